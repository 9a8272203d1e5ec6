#include "link/credentials.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

#include "trust/files.h"

namespace berth::link {

std::shared_ptr<grpc::ServerCredentials> server_credentials(const std::filesystem::path& directory,
                                                            std::chrono::seconds refresh) {
  const trust::CredentialFiles files = trust::files_in(directory);
  auto watcher = std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
      files.key.string(), files.certificate.string(), files.authority.string(),
      static_cast<unsigned>(refresh.count()));
  grpc::experimental::TlsServerCredentialsOptions options(std::move(watcher));
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  return grpc::experimental::TlsServerCredentials(options);
}

}  // namespace berth::link
