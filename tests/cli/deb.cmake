# The Debian package, where Debian's tools are.
if(PROJECT_IS_TOP_LEVEL)
  add_test(NAME "cli: deb" COMMAND sh "${CMAKE_CURRENT_LIST_DIR}/deb.sh" "${CMAKE_CPACK_COMMAND}"
    "${PROJECT_BINARY_DIR}/CPackConfig.cmake" "$<TARGET_FILE:scalecalc_program>")
  set_tests_properties("cli: deb" PROPERTIES LABELS cli SKIP_RETURN_CODE 77)
endif()
