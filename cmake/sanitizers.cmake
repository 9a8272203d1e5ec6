set(BERTH_SANITIZE "" CACHE STRING "sanitizers to build with, comma separated")
if(BERTH_SANITIZE)
  add_compile_options(-fsanitize=${BERTH_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${BERTH_SANITIZE})
endif()
if(BERTH_SANITIZE STREQUAL "thread")
  add_compile_options(-Wno-tsan)  # asio has fences that it cannot follow; its locks it can
  # Else protobuf's messages have a member more than in the library, which is built without.
  add_compile_options(-U__SANITIZE_THREAD__)
endif()
