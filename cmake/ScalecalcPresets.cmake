# scalecalc_presets(TARGET FOLDER): one .cpp with the texts of FOLDER/*.toml, compiled into TARGET.
# Run as a script (cmake -P, with FOLDER and OUTPUT), it writes that file.
function(scalecalc_presets target folder)
  file(GLOB files CONFIGURE_DEPENDS "${folder}/*.toml")
  set(output "${CMAKE_CURRENT_BINARY_DIR}/presets.cpp")
  add_custom_command(OUTPUT "${output}"
    COMMAND "${CMAKE_COMMAND}" "-DFOLDER=${folder}" "-DOUTPUT=${output}"
            -P "${PROJECT_SOURCE_DIR}/cmake/ScalecalcPresets.cmake"
    DEPENDS ${files} "${PROJECT_SOURCE_DIR}/cmake/ScalecalcPresets.cmake"
    COMMENT "Embedding the presets" VERBATIM)
  target_sources(${target} PRIVATE "${output}")
endfunction()

if(NOT CMAKE_SCRIPT_MODE_FILE)
  return()
endif()

# A preset's first line is its title: "# Title".
file(GLOB files "${FOLDER}/*.toml")
list(SORT files COMPARE NATURAL)
set(entries "")
foreach(file IN LISTS files)
  get_filename_component(name "${file}" NAME_WE)
  file(READ "${file}" text)
  if(NOT text MATCHES "^# ([^\n]+)\n")
    message(FATAL_ERROR "${file} must begin with its title: # ...")
  endif()
  string(REPLACE "\"" "\\\"" title "${CMAKE_MATCH_1}")
  string(APPEND entries "    {\"${name}\", \"${title}\",\n     R\"preset(${text})preset\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "#include \"network/presets.hpp\"

namespace scalecalc {

const std::vector<Preset>& embedded_presets() {
  static const std::vector<Preset> all = {
${entries}  };
  return all;
}

}  // namespace scalecalc
")
