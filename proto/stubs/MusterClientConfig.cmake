# muster::client, for find_package(MusterClient): C++20, gRPC, Protobuf and Abseil as Debian has them.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
find_dependency(OpenSSL)
find_dependency(Protobuf)
foreach(package gRPC absl spdlog yaml-cpp)
  find_dependency(${package} CONFIG)
endforeach()
if(NOT TARGET muster::client)
  # What holds lib/cmake/MusterClient. Debian's /lib is a link, beside which there are no headers.
  get_filename_component(muster_prefix ${CMAKE_CURRENT_LIST_DIR} REALPATH)
  get_filename_component(muster_prefix ${muster_prefix}/../../.. ABSOLUTE)
  add_library(muster::client STATIC IMPORTED)
  set_target_properties(muster::client PROPERTIES
    IMPORTED_LOCATION ${muster_prefix}/lib/libmuster-client.a
    INTERFACE_INCLUDE_DIRECTORIES ${muster_prefix}/include/muster-client
    INTERFACE_COMPILE_FEATURES cxx_std_20
    INTERFACE_LINK_LIBRARIES "gRPC::grpc++;protobuf::libprotobuf;absl::statusor;absl::random_random;absl::str_format;absl::time;spdlog::spdlog;yaml-cpp;OpenSSL::Crypto;Threads::Threads")
endif()
