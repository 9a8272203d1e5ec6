set(BERTH_SANITIZE "" CACHE STRING "sanitizers to build with, comma separated")
# A third of the time of compiling goes into checks of every pointer; ./test leaves them to ./test --all
# (docs/adr/0046).
set(BERTH_SANITIZE_EXCEPT "" CACHE STRING "checks of these sanitizers to leave out, comma separated")
if(BERTH_SANITIZE)
  add_compile_options(-fsanitize=${BERTH_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${BERTH_SANITIZE})
endif()
if(BERTH_SANITIZE_EXCEPT)
  add_compile_options(-fno-sanitize=${BERTH_SANITIZE_EXCEPT})
endif()
if(BERTH_SANITIZE STREQUAL "thread")
  add_compile_options(-Wno-tsan)  # asio has fences that it cannot follow; its locks it can
  # Else protobuf's messages have a member more than in the library, which is built without.
  add_compile_options(-U__SANITIZE_THREAD__)
endif()
