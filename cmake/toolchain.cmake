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

find_program(BERTH_CCACHE ccache)
if(BERTH_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${BERTH_CCACHE})
endif()

add_link_options(-Wl,--as-needed)  # a program loads only what it uses
find_program(BERTH_MOLD mold)
if(BERTH_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
