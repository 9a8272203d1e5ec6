# cmake --install: the programs, and what `berth` says of itself as manual pages and completions.
include(GNUInstallDirs)

install(TARGETS berth berthd berth-agent berth-shim berth-sim RUNTIME)
install(DIRECTORY sdk/session DESTINATION ${CMAKE_INSTALL_DATADIR}/berth/sdk
        PATTERN __pycache__ EXCLUDE)  # for the authors of apps

# What the program is built as writes them, straight to where they belong.
install(CODE "
  set(share \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share\")
  function(berth_writes file)
    get_filename_component(directory \"\${file}\" DIRECTORY)
    file(MAKE_DIRECTORY \"\${directory}\")
    execute_process(COMMAND \"$<TARGET_FILE:berth>\" \${ARGN} OUTPUT_FILE \"\${file}\"
                    COMMAND_ERROR_IS_FATAL ANY)
    message(STATUS \"Installing: \${file}\")
  endfunction()
  execute_process(COMMAND \"$<TARGET_FILE:berth>\" man --directory \"\${share}/man/man1\"
                  COMMAND_ERROR_IS_FATAL ANY)
  message(STATUS \"Installing: \${share}/man/man1\")
  berth_writes(\"\${share}/bash-completion/completions/berth\" completion bash)
  berth_writes(\"\${share}/zsh/site-functions/_berth\" completion zsh)
  berth_writes(\"\${share}/fish/vendor_completions.d/berth.fish\" completion fish)
")
