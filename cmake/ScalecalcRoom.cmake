# scalecalc_room(NAME HEADERS header... [NATIVE | COLD] [OPTIONS option...] [WITHOUT folder]
#                [USES room...] [LIBRARIES target...] [ALONE file or folder...])
#
# One folder of src/ as a static library `scalecalc_NAME`, and HEADERS, its public ones in
# include/scalecalc. A room sees the headers, public and private, of the rooms that it USES and of
# those that they use, and links them: an include or a call against the direction of the design does
# not compile or link. NATIVE rooms are compiled for this machine's processor, COLD ones, where no
# time is spent, in less time, each with OPTIONS of its own. What is ALONE is never compiled together
# with other files. The installed library is made of the objects of all rooms.
function(scalecalc_room name)
  cmake_parse_arguments(ROOM "NATIVE;COLD" "WITHOUT" "HEADERS;USES;LIBRARIES;ALONE;OPTIONS"
    ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cpp")
  if(ROOM_WITHOUT)
    list(FILTER sources EXCLUDE REGEX "/${name}/${ROOM_WITHOUT}/")
  endif()
  scalecalc_room_headers(${name} HEADERS ${ROOM_HEADERS} USES ${ROOM_USES})
  set(target scalecalc_${name})
  add_library(${target} STATIC ${sources})
  list(TRANSFORM ROOM_USES PREPEND scalecalc_)
  target_link_libraries(${target} PUBLIC ${target}_headers ${ROOM_USES}
    PRIVATE scalecalc_options ${ROOM_LIBRARIES})
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  if(ROOM_NATIVE)
    target_compile_options(${target} PRIVATE ${SCALECALC_MARCH})
  endif()
  target_compile_options(${target} PRIVATE ${ROOM_OPTIONS})
  if(ROOM_COLD)
    scalecalc_cold(${target})
  endif()
  scalecalc_unity(${target} ${name} ${ROOM_ALONE})
  set(precompiled fmt/format.h)
  if("scalecalc_eigen" IN_LIST ROOM_LIBRARIES)
    list(APPEND precompiled Eigen/Core)
  endif()
  scalecalc_precompile(${target} "${ROOM_NATIVE} ${ROOM_COLD} ${ROOM_OPTIONS} ${precompiled}"
    ${precompiled})
  set_property(GLOBAL APPEND PROPERTY SCALECALC_ROOMS ${target})
endfunction()

# Compiles a target with the few optimisations of -Og, half of the time that -O3 takes: for code that
# prints and reads.
function(scalecalc_cold target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-Og>)
  set_target_properties(${target} PROPERTIES SCALECALC_COLD ON)
endfunction()

option(SCALECALC_UNITY "Compile files of a room together: half the time of a build from nothing" OFF)

# GCC collects garbage at 128 MB and each doubling, a tenth of its time. Where each processor has
# 2 GB it may take six times that before the first time.
set(SCALECALC_HEAP "")
cmake_host_system_information(RESULT memory QUERY TOTAL_PHYSICAL_MEMORY)
cmake_host_system_information(RESULT processors QUERY NUMBER_OF_LOGICAL_CORES)
math(EXPR memory "${memory} / ${processors}")
if(memory GREATER_EQUAL 2000)
  set(SCALECALC_HEAP --param=ggc-min-heapsize=786432)
endif()

# scalecalc_unity(TARGET FOLDER [file or folder...]): compiles files of a target eight at a time where
# that is asked for, sixteen of a COLD one, but alone those named, below FOLDER, whose unnamed
# namespaces share names.
function(scalecalc_unity target folder)
  set(batch 8)
  get_target_property(is_cold ${target} SCALECALC_COLD)
  if(is_cold)
    set(batch 16)
  endif()
  set_target_properties(${target} PROPERTIES
    UNITY_BUILD ${SCALECALC_UNITY} UNITY_BUILD_BATCH_SIZE ${batch})
  if(SCALECALC_UNITY)
    # GCC takes a file that is included for a header, whose unnamed namespace others could see.
    target_compile_options(${target} PRIVATE
      $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage> $<$<CXX_COMPILER_ID:GNU>:${SCALECALC_HEAP}>)
  endif()
  get_target_property(sources ${target} SOURCES)
  foreach(alone IN LISTS ARGN)
    set(chosen ${sources})
    list(FILTER chosen INCLUDE REGEX "/${folder}/${alone}")
    if(NOT chosen)
      message(FATAL_ERROR "${target} has no file ${alone}")
    endif()
    set_source_files_properties(${chosen} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endforeach()
endfunction()

option(SCALECALC_PRECOMPILE "Read the headers that most files include once for a build" OFF)

# scalecalc_precompile(TARGET KEY [header...]): reads the headers that most files include, and those
# named, once for all targets of the same KEY. These must be compiled with the same options, and what a
# command line defines for the first of them it must define for all. A header of functions that are no
# templates (CLI11) would cost: each object compiles them again.
function(scalecalc_precompile target key)
  if(NOT SCALECALC_PRECOMPILE)
    return()
  endif()
  string(MD5 key "${key}")
  get_property(first GLOBAL PROPERTY SCALECALC_PRECOMPILED_${key})
  if(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
    return()
  endif()
  set(headers algorithm array cmath cstdint functional limits map memory optional set string
    string_view utility variant vector ${ARGN})
  list(TRANSFORM headers REPLACE "(.+)" "<\\1>")
  target_precompile_headers(${target} PRIVATE ${headers})
  set_property(GLOBAL PROPERTY SCALECALC_PRECOMPILED_${key} ${target})
endfunction()

# `scalecalc_NAME_headers`: a folder on the include path that holds nothing but links to the room's
# own folder and to its public headers.
function(scalecalc_room_headers name)
  cmake_parse_arguments(ROOM "" "" "HEADERS;USES" ${ARGN})
  set(folder "${PROJECT_BINARY_DIR}/rooms/${name}")
  file(REMOVE_RECURSE "${folder}")
  file(MAKE_DIRECTORY "${folder}/scalecalc")
  file(CREATE_LINK "${CMAKE_CURRENT_SOURCE_DIR}/${name}" "${folder}/${name}" SYMBOLIC)
  foreach(header IN LISTS ROOM_HEADERS)
    file(CREATE_LINK "${PROJECT_SOURCE_DIR}/include/scalecalc/${header}"
      "${folder}/scalecalc/${header}" SYMBOLIC)
  endforeach()
  add_library(scalecalc_${name}_headers INTERFACE)
  target_include_directories(scalecalc_${name}_headers INTERFACE "${folder}")
  foreach(used IN LISTS ROOM_USES)
    target_link_libraries(scalecalc_${name}_headers INTERFACE scalecalc_${used}_headers)
  endforeach()
endfunction()
