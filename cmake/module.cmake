# berth_module(placement DEPS base model LIBS fmt::fmt) makes the library of a directory of src/ from
# its *.cc, and the test program <name>_test from its *_test.cc. Both include subdirectories. What
# tests are made of, in testing/, is compiled once for all of them.
function(berth_module name)
  cmake_parse_arguments(MODULE "" "" "DEPS;LIBS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS *.cc)
  set(tests ${sources})
  set(testing ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$|/testing/")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER testing INCLUDE REGEX "/testing/")

  list(TRANSFORM MODULE_DEPS PREPEND berth_)
  if(sources)
    add_library(berth_${name} STATIC ${sources})
    target_link_libraries(berth_${name} PUBLIC ${MODULE_DEPS} ${MODULE_LIBS})
  else()
    add_library(berth_${name} INTERFACE)
    target_link_libraries(berth_${name} INTERFACE ${MODULE_DEPS} ${MODULE_LIBS})
  endif()

  if(NOT BERTH_TESTS)
    return()
  endif()
  set(testing_library)
  if(testing)
    set(testing_library berth_${name}_testing)
    add_library(${testing_library} STATIC ${testing})
    target_link_libraries(${testing_library} PUBLIC berth_${name} GTest::gtest GTest::gmock)
  endif()
  if(tests)
    berth_test(${name}_test SOURCES ${tests} DEPS ${testing_library} berth_${name})
  endif()
endfunction()

# A test program whose every TEST is one line in the summary of ./test.
function(berth_test name)
  cmake_parse_arguments(TEST "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${TEST_SOURCES})
  target_link_libraries(${name} PRIVATE ${TEST_DEPS} GTest::gtest GTest::gmock GTest::gtest_main
                                        ${RAPIDCHECK_LIBRARY})
  target_compile_definitions(${name} PRIVATE BERTH_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                                             BERTH_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
  set_property(GLOBAL APPEND PROPERTY BERTH_TESTS ${name})
endfunction()

function(berth_app name)
  cmake_parse_arguments(APP "" "" "SOURCES;DEPS;LIBS" ${ARGN})
  list(TRANSFORM APP_DEPS PREPEND berth_)
  add_executable(${name} ${APP_SOURCES})
  target_link_libraries(${name} PRIVATE ${APP_DEPS} ${APP_LIBS})
endfunction()
