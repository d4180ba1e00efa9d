# Ranks that mpirun starts: the same bytes as one process, and what becomes of a rank that is lost.
if(SCALECALC_HAS_MPI AND MPIEXEC_EXECUTABLE)
  foreach(case train sweep verify killed damaged wrong rest starter)
    add_test(NAME "cli: mpi: ${case}" COMMAND ${CMAKE_COMMAND}
      "-DPROGRAM=$<TARGET_FILE:scalecalc_program>" "-DMPIRUN=${MPIEXEC_EXECUTABLE}"
      "-DCASE=${case}" -P "${CMAKE_CURRENT_SOURCE_DIR}/mpi_case.cmake")
    set_tests_properties("cli: mpi: ${case}" PROPERTIES LABELS "cli;mpi" TIMEOUT 600)
  endforeach()
else()
  add_test(NAME "cli: mpi" COMMAND ${CMAKE_COMMAND} -E echo
    "built without MPI: install libopenmpi-dev and openmpi-bin (tools/setup --tests)")
  set_tests_properties("cli: mpi" PROPERTIES LABELS "cli;mpi"
    SKIP_REGULAR_EXPRESSION "built without MPI")
endif()
