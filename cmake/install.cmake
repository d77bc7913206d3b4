# What `cmake --install` installs: static libraries with their public headers, a CMake package with
# one component for each adapter, files for pkg-config, and the program.
#
# Shared libraries are not offered yet: the interface is not stable before 1.0.

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(ONEFOLD_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/onefold)
set(ONEFOLD_PKGCONFIG_DIR ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
# The installed tree can be moved: its files find each other from where they are.
file(RELATIVE_PATH ONEFOLD_PREFIX_FROM_PKGCONFIG
     /prefix/${ONEFOLD_PKGCONFIG_DIR} /prefix)

# onefold_component(NAME TARGETS libraries ... HEADERS files ... DEPENDS packages of CMake ...
#                   REQUIRES packages of pkg-config ... DESCRIPTION text)
# The first target is onefold::NAME. HEADERS are all that its users may include.
function(onefold_component name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "DESCRIPTION" "TARGETS;HEADERS;DEPENDS;REQUIRES")
  set(archives)
  foreach(target IN LISTS arg_TARGETS)
    string(REGEX REPLACE "^onefold_" "" exported ${target})
    set_target_properties(${target} PROPERTIES EXPORT_NAME ${exported})
    target_include_directories(${target} INTERFACE
      $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL STATIC_LIBRARY)
      string(APPEND archives " -l${target}")
    endif()
  endforeach()
  install(TARGETS ${arg_TARGETS} EXPORT onefold_${name}
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
  install(EXPORT onefold_${name} NAMESPACE onefold:: FILE onefold_${name}.cmake
          DESTINATION ${ONEFOLD_PACKAGE_DIR} COMPONENT development)

  foreach(header IN LISTS arg_HEADERS)
    cmake_path(GET header PARENT_PATH folder)
    install(FILES ${PROJECT_SOURCE_DIR}/${header}
            DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder} COMPONENT development)
  endforeach()

  list(JOIN arg_DEPENDS " " needs)
  set_property(GLOBAL APPEND PROPERTY ONEFOLD_COMPONENTS ${name})
  set_property(GLOBAL APPEND_STRING PROPERTY ONEFOLD_NEEDS "set(onefold_needs_${name} ${needs})\n")

  set(package onefold-${name})
  if(name STREQUAL core)
    set(package onefold)
  endif()
  set(PACKAGE_NAME ${package})
  set(PACKAGE_DESCRIPTION "${arg_DESCRIPTION}")
  set(PACKAGE_LIBRARIES "${archives}")
  list(JOIN arg_REQUIRES ", " PACKAGE_REQUIRES)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/package.pc.in
                 ${PROJECT_BINARY_DIR}/package/${package}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/package/${package}.pc
          DESTINATION ${ONEFOLD_PKGCONFIG_DIR} COMPONENT development)
endfunction()

# The vocabulary is public as a whole; of the formats, what handlers and sources need.
file(GLOB vocabulary CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
     ${PROJECT_SOURCE_DIR}/onefold/*.h)
onefold_component(core
  DESCRIPTION "events applied exactly once: the vocabulary, formats and the runner"
  TARGETS onefold_core onefold_runtime onefold_key_rule onefold_formats onefold_vocabulary
  HEADERS ${vocabulary} onefold/formats/decoder.h onefold/formats/fields.h onefold/formats/json.h
  DEPENDS fmt simdjson OpenSSL
  REQUIRES fmt simdjson libcrypto)
onefold_component(sqlite
  DESCRIPTION "SQLite as the database of Onefold"
  TARGETS onefold_sqlite
  HEADERS onefold/stores/sqlite/sqlite.h
  DEPENDS SQLite3
  REQUIRES onefold sqlite3)
onefold_component(lab
  DESCRIPTION "the disorder lab of Onefold: handlers tested by every order of steps and faults"
  TARGETS onefold_lab onefold_memory
  HEADERS onefold/lab/lab.h onefold/lab/world_spec.h
  REQUIRES onefold)
onefold_component(file
  DESCRIPTION "files of events as a source of Onefold"
  TARGETS onefold_file
  HEADERS onefold/brokers/file/file.h
  REQUIRES onefold)
if(ONEFOLD_MARIADB)
  onefold_component(mariadb
    DESCRIPTION "MariaDB as the database of Onefold"
    TARGETS onefold_mariadb
    HEADERS onefold/stores/mariadb/mariadb.h
    DEPENDS MariaDB
    REQUIRES onefold libmariadb)
  install(FILES cmake/FindMariaDB.cmake DESTINATION ${ONEFOLD_PACKAGE_DIR} COMPONENT development)
endif()
if(ONEFOLD_POSTGRES)
  onefold_component(postgres
    DESCRIPTION "PostgreSQL as the database of Onefold"
    TARGETS onefold_postgres
    HEADERS onefold/stores/postgres/postgres.h
    DEPENDS PostgreSQL
    REQUIRES onefold libpq)
endif()

get_property(ONEFOLD_COMPONENTS GLOBAL PROPERTY ONEFOLD_COMPONENTS)
get_property(ONEFOLD_NEEDS GLOBAL PROPERTY ONEFOLD_NEEDS)
configure_package_config_file(cmake/onefoldConfig.cmake.in
  ${PROJECT_BINARY_DIR}/package/onefoldConfig.cmake
  INSTALL_DESTINATION ${ONEFOLD_PACKAGE_DIR} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/onefoldConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/onefoldConfig.cmake
              ${PROJECT_BINARY_DIR}/package/onefoldConfigVersion.cmake
        DESTINATION ${ONEFOLD_PACKAGE_DIR} COMPONENT development)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT development)

# onefold_printed(FILE FOLDER WORDS...): what the program prints about itself, installed as a file.
function(onefold_printed file folder)
  set(printed ${PROJECT_BINARY_DIR}/package/${file})
  add_custom_command(OUTPUT ${printed} DEPENDS onefold VERBATIM
                     COMMAND onefold ${ARGN} > ${printed})
  set_property(TARGET onefold_printed APPEND PROPERTY SOURCES ${printed})
  install(FILES ${printed} DESTINATION ${folder} COMPONENT program)
endfunction()

if(ONEFOLD_WITH_DAEMON)
  install(TARGETS onefold RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
  add_custom_target(onefold_printed ALL)
  onefold_printed(onefold.1 ${CMAKE_INSTALL_MANDIR}/man1 man)
  onefold_printed(onefold ${CMAKE_INSTALL_DATADIR}/bash-completion/completions completion bash)
  onefold_printed(_onefold ${CMAKE_INSTALL_DATADIR}/zsh/site-functions completion zsh)
  onefold_printed(onefold.fish ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d completion fish)
endif()
