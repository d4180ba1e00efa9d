# Whether ranks of MPI are built: SCALECALC_HAS_MPI. They are a library of their own beside the
# program, scalecalc_mpi.so, opened when the program was started by mpirun: the program itself links
# no MPI, and starts where there is none.
set(SCALECALC_HAS_MPI OFF)
if(PROJECT_IS_TOP_LEVEL AND NOT SCALECALC_MPI STREQUAL "OFF")
  find_package(MPI QUIET COMPONENTS CXX)
  if(MPI_CXX_FOUND)
    set(SCALECALC_HAS_MPI ON)
  elseif(SCALECALC_MPI STREQUAL "ON")
    message(FATAL_ERROR "SCALECALC_MPI=ON needs MPI with its headers (on Debian libopenmpi-dev); "
      "use AUTO or OFF to build without it")
  endif()
endif()
message(STATUS "MPI ranks: ${SCALECALC_HAS_MPI}")

# The library that holds the one file which knows MPI.
function(scalecalc_mpi_library)
  scalecalc_plugin(scalecalc_mpi PROGRAM ROOM cluster SOURCES cluster/mpi/plugin.cpp LIBRARIES MPI::MPI_CXX)
endfunction()
