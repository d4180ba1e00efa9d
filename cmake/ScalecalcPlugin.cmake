# scalecalc_plugin(TARGET [PROGRAM] ROOM room SOURCES source... [LIBRARIES target...])
#
# A library of its own, TARGET.so, that the program opens when it needs it (src/base/plugin.hpp). It
# sees the headers of ROOM and shows the one symbol that it declares visible. With PROGRAM it lies
# beside the program and is installed with it. SCALECALC_PLUGIN_VERSION is the project's version and
# a digest of the interface, the same in the program and in its plug-ins: classes cross the border,
# whose layout must agree.
set(interface
  include/scalecalc/activation.hpp include/scalecalc/error.hpp include/scalecalc/tensor.hpp
  src/base/plugin.hpp src/cluster/mpi/functions.hpp src/tensor/cuda.hpp src/tensor/cuda/plugin.hpp
  src/tensor/device.hpp src/tensor/draw.hpp src/tensor/element_update.hpp
  src/tensor/operations.def src/base/philox.hpp)
set(digest "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}")
foreach(header IN LISTS interface)
  file(SHA256 "${PROJECT_SOURCE_DIR}/${header}" one)
  string(APPEND digest " ${one}")
endforeach()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${interface})
string(SHA256 digest "${digest}")
string(SUBSTRING "${digest}" 0 8 digest)
set(SCALECALC_PLUGIN_VERSION "${PROJECT_VERSION}-${digest}")

function(scalecalc_plugin target)
  cmake_parse_arguments(PLUGIN "PROGRAM" "ROOM" "SOURCES;LIBRARIES" ${ARGN})
  add_library(${target} MODULE ${PLUGIN_SOURCES})
  target_link_libraries(${target} PRIVATE
    scalecalc_${PLUGIN_ROOM}_headers scalecalc_options ${PLUGIN_LIBRARIES})
  target_compile_definitions(${target} PRIVATE
    SCALECALC_PLUGIN_VERSION="${SCALECALC_PLUGIN_VERSION}")
  target_link_options(${target} PRIVATE
    -Wl,--as-needed -Wl,--exclude-libs,ALL ${SCALECALC_OWN_RUNTIME})
  if(NOT SCALECALC_SANITIZE)
    target_link_options(${target} PRIVATE -Wl,-z,defs)
  endif()
  set_target_properties(${target} PROPERTIES PREFIX "" LINKER_LANGUAGE CXX
    CXX_VISIBILITY_PRESET hidden)
  if(PLUGIN_PROGRAM)
    set_target_properties(${target} PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
    set_property(GLOBAL APPEND PROPERTY SCALECALC_PLUGINS ${target})
  endif()
endfunction()
