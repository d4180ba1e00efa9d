# scalecalc_room(NAME [NATIVE] [WITHOUT folder] [USES room...] [LIBRARIES target...])
#
# One folder of src/ as a static library `scalecalc_NAME` that links only the rooms it may call, so
# that a call against the direction of the design does not link. The installed library is made of
# the objects of all rooms.
function(scalecalc_room name)
  cmake_parse_arguments(ROOM "NATIVE" "WITHOUT" "USES;LIBRARIES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cpp")
  if(ROOM_WITHOUT)
    list(FILTER sources EXCLUDE REGEX "/${name}/${ROOM_WITHOUT}/")
  endif()
  if(NOT sources)
    return()
  endif()
  set(target scalecalc_${name})
  add_library(${target} STATIC ${sources})
  list(TRANSFORM ROOM_USES PREPEND scalecalc_)
  target_link_libraries(${target} PUBLIC ${ROOM_USES} PRIVATE scalecalc_options ${ROOM_LIBRARIES})
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  if(ROOM_NATIVE)
    target_compile_options(${target} PRIVATE ${SCALECALC_MARCH})
  endif()
  set_property(GLOBAL APPEND PROPERTY SCALECALC_ROOMS ${target})
endfunction()
