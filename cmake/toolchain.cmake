set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror
                    -Wno-missing-field-initializers)  # designated initializers name what matters
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # GCC 12 sees ghosts in moved variants and optionals; the sanitizers look for the real ones.
  add_compile_options(-Wno-maybe-uninitialized)
endif()
include_directories(${PROJECT_SOURCE_DIR}/src)

# Sixteen files of a module at a time: most of the time of a compiler goes into headers and into what
# is generated from them, again in each file. So what a module hides in its sources needs names of
# its own in the module. With -DCMAKE_UNITY_BUILD=OFF each file is compiled alone, as ./test --all
# does, which shows what a file forgot to include.
option(CMAKE_UNITY_BUILD "compile several files of a module together" ON)
set(CMAKE_UNITY_BUILD_BATCH_SIZE 16)
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  add_compile_options(-Wno-subobject-linkage)  # a source file looks like a header then
endif()

find_program(BERTH_CCACHE ccache)
if(BERTH_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${BERTH_CCACHE})
endif()

add_link_options(-Wl,--as-needed)  # a program loads only what it uses
find_program(BERTH_MOLD mold)
if(BERTH_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
