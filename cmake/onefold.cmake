# The project's own vocabulary for targets: one line a library, one line a test.

add_library(onefold_warnings INTERFACE)
target_compile_features(onefold_warnings INTERFACE cxx_std_20)
target_compile_options(onefold_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wnon-virtual-dtor -fno-omit-frame-pointer)

# GCC 12 sees overlapping copies in "text" + std::string where there are none (its bug 105651), and
# with optimisation or sanitizers texts and variants that are not set (its bug 105562).
target_compile_options(onefold_warnings INTERFACE
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict -Wno-maybe-uninitialized>)

option(ONEFOLD_WERROR "Warnings are errors" OFF)
if(ONEFOLD_WERROR)
  target_compile_options(onefold_warnings INTERFACE -Werror)
endif()

set(ONEFOLD_SANITIZE "" CACHE STRING "Sanitizers, for example address,undefined or thread")
if(ONEFOLD_SANITIZE)
  add_compile_options(-fsanitize=${ONEFOLD_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${ONEFOLD_SANITIZE})
endif()

option(ONEFOLD_COVERAGE "Count covered lines" OFF)
if(ONEFOLD_COVERAGE)
  add_compile_options(--coverage)
  add_link_options(--coverage)
endif()

# onefold_library(NAME SOURCES a.cpp ... DEPENDS public ... PRIVATE private ...)
function(onefold_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS;PRIVATE")
  add_library(onefold_${name} STATIC ${arg_SOURCES})
  add_library(onefold::${name} ALIAS onefold_${name})
  target_include_directories(onefold_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
  target_compile_features(onefold_${name} PUBLIC cxx_std_20)
  target_link_libraries(onefold_${name} PUBLIC ${arg_DEPENDS} PRIVATE ${arg_PRIVATE}
                        $<BUILD_INTERFACE:onefold_warnings>)
endfunction()

# onefold_test(NAME [THREADS] SOURCES a_test.cpp ... DEPENDS libraries ... LABEL fast|slow|soak)
# A test is "fast" unless it says otherwise. THREADS: it has several, for ThreadSanitizer to see.
function(onefold_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "THREADS" "LABEL" "SOURCES;DEPENDS")
  if(NOT ONEFOLD_TESTS)
    return()
  endif()
  if(NOT arg_LABEL)
    set(arg_LABEL fast)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_DEPENDS} onefold_warnings GTest::gtest_main
                        rapidcheck)
  if(arg_THREADS)
    set_property(GLOBAL APPEND PROPERTY onefold_thread_tests ${name})
  endif()
  # Which tests there are depends on the servers of that moment.
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST
    PROPERTIES LABELS ${arg_LABEL} TIMEOUT 600 DISCOVERY_TIMEOUT 60)
endfunction()

# onefold_soak(TEST_EXECUTABLE FILTER CASES): its property tests again, with many more cases.
function(onefold_soak name filter cases)
  if(NOT ONEFOLD_TESTS)
    return()
  endif()
  add_test(NAME ${name}_soak COMMAND ${name} --gtest_filter=${filter})
  set_tests_properties(${name}_soak PROPERTIES
    LABELS soak TIMEOUT 3600 ENVIRONMENT RC_PARAMS=max_success=${cases})
endfunction()
