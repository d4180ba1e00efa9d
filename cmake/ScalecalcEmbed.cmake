# scalecalc_embed(TARGET FOLDER NAME HEADER [ENDING]): one .cpp with the texts of FOLDER/*.ENDING
# (toml), compiled into TARGET, as the function NAME that HEADER declares. A text's title is its first
# comment, or its key. Run as a script (cmake -P, with FOLDER, ENDING, NAME, HEADER and OUTPUT), it
# writes that file.
function(scalecalc_embed target folder name header)
  set(ending toml)
  if(ARGC GREATER 4)
    set(ending "${ARGV4}")
  endif()
  file(GLOB files CONFIGURE_DEPENDS "${folder}/*.${ending}")
  set(output "${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp")
  add_custom_command(OUTPUT "${output}"
    COMMAND "${CMAKE_COMMAND}" "-DFOLDER=${folder}" "-DENDING=${ending}" "-DNAME=${name}" "-DHEADER=${header}"
            "-DOUTPUT=${output}" -P "${PROJECT_SOURCE_DIR}/cmake/ScalecalcEmbed.cmake"
    DEPENDS ${files} "${PROJECT_SOURCE_DIR}/cmake/ScalecalcEmbed.cmake"
    COMMENT "Embedding ${folder}" VERBATIM)
  target_sources(${target} PRIVATE "${output}")
endfunction()

if(NOT CMAKE_SCRIPT_MODE_FILE)
  return()
endif()

file(GLOB files "${FOLDER}/*.${ENDING}")
list(SORT files COMPARE NATURAL)
set(entries "")
foreach(file IN LISTS files)
  get_filename_component(name "${file}" NAME_WE)
  file(READ "${file}" text)
  if(text MATCHES "^# ([^\n]+)\n")
    string(REPLACE "\"" "\\\"" title "${CMAKE_MATCH_1}")
  elseif(text MATCHES "^title = \"([^\"\n]+)\"")
    set(title "${CMAKE_MATCH_1}")
  else()
    message(FATAL_ERROR "${file} must begin with its title: # ..., or title = \"...\"")
  endif()
  string(APPEND entries "    {\"${name}\", \"${title}\",\n     R\"embedded(${text})embedded\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "#include \"${HEADER}\"

namespace scalecalc {

const std::vector<Preset>& ${NAME}() {
  static const std::vector<Preset> all = {
${entries}  };
  return all;
}

}  // namespace scalecalc
")
