# The client library of MariaDB (libmariadb), as MariaDB::client. CMake has no module of its own.
find_path(MariaDB_INCLUDE_DIR mysql.h PATH_SUFFIXES mariadb)
find_library(MariaDB_LIBRARY mariadb)

if(MariaDB_INCLUDE_DIR AND EXISTS ${MariaDB_INCLUDE_DIR}/mariadb_version.h)
  file(STRINGS ${MariaDB_INCLUDE_DIR}/mariadb_version.h MariaDB_VERSION
       REGEX "define MARIADB_PACKAGE_VERSION ")
  string(REGEX REPLACE ".*\"([0-9.]+)\".*" "\\1" MariaDB_VERSION "${MariaDB_VERSION}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(MariaDB
  REQUIRED_VARS MariaDB_LIBRARY MariaDB_INCLUDE_DIR VERSION_VAR MariaDB_VERSION)
mark_as_advanced(MariaDB_INCLUDE_DIR MariaDB_LIBRARY)

if(MariaDB_FOUND AND NOT TARGET MariaDB::client)
  add_library(MariaDB::client UNKNOWN IMPORTED)
  set_target_properties(MariaDB::client PROPERTIES
    IMPORTED_LOCATION ${MariaDB_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${MariaDB_INCLUDE_DIR})
endif()
