#pragma once

#include "berth/v1/api.pb.h"
#include "controld/api/services.h"

// The calls of the API, each implemented once and offered by every front. They return at once; the
// call is answered from whatever thread has the answer.
namespace berth::controld::api {

// Documents.
void apply(const Services& services, const v1::ApplyRequest& request, const CallPtr& call);
void plan(const Services& services, const v1::PlanRequest& request, const CallPtr& call);
void why(const Services& services, const v1::WhyRequest& request, const CallPtr& call);
void get_cluster(const Services& services, const v1::GetClusterRequest& request,
                 const CallPtr& call);
void list_documents(const Services& services, const v1::ListDocumentsRequest& request,
                    const CallPtr& call);
void delete_document(const Services& services, const v1::DeleteRequest& request,
                     const CallPtr& call);
void rebalance(const Services& services, const v1::RebalanceRequest& request, const CallPtr& call);

// Instances.
void list_instances(const Services& services, const v1::ListInstancesRequest& request,
                    const CallPtr& call);
void pause_instance(const Services& services, const v1::InstanceRequest& request,
                    const CallPtr& call);
void resume_instance(const Services& services, const v1::InstanceRequest& request,
                     const CallPtr& call);

// Sessions: not durable, and so they wait for no disk.
void open_session(const Services& services, const v1::OpenSessionRequest& request,
                  const CallPtr& call);
void open_sessions(const Services& services, const v1::OpenSessionsRequest& first,
                   const CallPtr& call);
void close_session(const Services& services, const v1::CloseSessionRequest& request,
                   const CallPtr& call);
void get_session(const Services& services, const v1::GetSessionRequest& request,
                 const CallPtr& call);
void list_sessions(const Services& services, const v1::ListSessionsRequest& request,
                   const CallPtr& call);

// Nodes.
void list_nodes(const Services& services, const v1::ListNodesRequest& request, const CallPtr& call);
void cordon(const Services& services, const v1::NodeRequest& request, const CallPtr& call);
void uncordon(const Services& services, const v1::NodeRequest& request, const CallPtr& call);
void drain(const Services& services, const v1::DrainRequest& request, const CallPtr& call);
void forget_node(const Services& services, const v1::NodeRequest& request, const CallPtr& call);

// Events and watch.
void list_events(const Services& services, const v1::ListEventsRequest& request,
                 const CallPtr& call);
void watch(const Services& services, const v1::WatchRequest& request, const CallPtr& call);

// Logs and exec.
void logs(const Services& services, const v1::LogsRequest& request, const CallPtr& call);
void exec(const Services& services, const v1::ExecInput& request, const CallPtr& call);

// The store, when the control plane is held.
void accept_store(const Services& services, const v1::AcceptStoreRequest& request,
                  const CallPtr& call);
void adopt_store(const Services& services, const v1::AdoptStoreRequest& request,
                 const CallPtr& call);
void preview_adoption(const Services& services, const v1::PreviewAdoptionRequest& request,
                      const CallPtr& call);

// Trust.
void create_join_token(const Services& services, const v1::CreateJoinTokenRequest& request,
                       const CallPtr& call);
void join(const Services& services, const v1::JoinRequest& request, const CallPtr& call);

// The store.
void back_up_store(const Services& services, const v1::BackUpStoreRequest& request,
                   const CallPtr& call);

void get_version(const Services& services, const v1::GetVersionRequest& request,
                 const CallPtr& call);

}  // namespace berth::controld::api
