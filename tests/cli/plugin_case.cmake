# One case of plugin.cmake: a copy of the program, in a fresh folder, which is the working directory.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}/prefix/bin")
set(bin "${WORK}/prefix/bin")
file(COPY_FILE "${PROGRAM}" "${bin}/scalecalc")
set(PROGRAM "${bin}/scalecalc")
include("${CMAKE_CURRENT_LIST_DIR}/shell.cmake")
set(nothing "")

set(verify "verify '${CMAKE_CURRENT_LIST_DIR}/tiny.toml' --seeds 2 --threads 1 --quiet --format json")

# The emulated device is listed, and passes run on it.
function(expect_device)
  shell("$P devices --format csv")
  expect("it is listed" code EQUAL 0 AND out MATCHES "cuda:0,true,[^\n]*,9.0,emulated")
  shell("$P ${verify} --device cuda >cuda.json")
  expect("passes run on it" code EQUAL 0 AND err STREQUAL nothing)
  # An error of the plug-in is an error of the program.
  shell("$P ${verify} --device cuda:1")
  expect("there is no second one" code EQUAL 2 AND err MATCHES "there is no device cuda:1")
endfunction()

# There is none, `why`; and no command is worse for it.
function(expect_none why)
  shell("$P devices --format csv")
  expect("it says why" code EQUAL 0 AND out MATCHES "\ncuda,false,[^\n]*${why}")
  shell("for device in auto cpu; do
           $P ${verify} --device $device | grep -v '\"device\": ' >$device.json
         done; grep -q results cpu.json && cmp auto.json cpu.json")
  expect("auto is the CPU" code EQUAL 0)
  shell("$P ${verify} --device cuda 2>&1 >/dev/null | tee said >&2; test $(wc -l <said) -eq 1")
  expect("one line" code EQUAL 0 AND err MATCHES "${why}[^\n]*\\(device cuda\\). use cpu or auto")
endfunction()

function(case_installed)
  file(MAKE_DIRECTORY "${bin}/${PLUGIN_DIR}")
  file(COPY_FILE "${EMULATED}" "${bin}/${PLUGIN_DIR}/scalecalc_cuda.so")
  expect_device()
  # By the program's own place, however it was called.
  file(CREATE_LINK "${PROGRAM}" "${WORK}/link" SYMBOLIC)
  shell("./link devices --format csv")
  expect("through a link" code EQUAL 0 AND out MATCHES "cuda:0,true")
endfunction()

function(case_beside)
  file(COPY_FILE "${EMULATED}" "${bin}/scalecalc_cuda.so")
  expect_device()
endfunction()

# Whatever is measured of passes, the emulated device and the CPU measure the same, up to rounding.
function(case_quantities)
  file(COPY_FILE "${EMULATED}" "${bin}/scalecalc_cuda.so")
  set(sweep "$P sweep '${CMAKE_CURRENT_LIST_DIR}/tiny.toml' --layers 1,2 --seeds 2 --threads 1 --quiet --format csv")
  shell("$P list quantities --format csv | tail -n +2 | cut -d, -f1")
  string(REGEX MATCHALL "[a-z_]+" quantities "${out}")
  expect("there are quantities" quantities)
  foreach(quantity IN LISTS quantities)
    foreach(rule IN ITEMS adam sgd muon "g*norm(theta)")
      shell("for device in cpu cuda; do
               ${sweep} --quantity ${quantity} --optimizer '${rule}' --device $device >$device.csv
             done
             paste -d, cpu.csv cuda.csv | awk -F, 'NR > 1 {
               for (i = 1; i <= NF / 2; ++i)
                 if (($i - $(i + NF / 2)) ^ 2 > (1e-6 * $i) ^ 2) print
               ++rows
             } END { if (rows != 2) print rows, \"rows\" }'")
      expect("${quantity} by ${rule}" code EQUAL 0 AND out STREQUAL nothing)
    endforeach()
  endforeach()
endfunction()

function(case_absent)
  expect_none("no plug-in scalecalc_cuda.so")
endfunction()

# In the working directory, and where the loader would look.
function(case_elsewhere)
  file(COPY_FILE "${EMULATED}" "${WORK}/scalecalc_cuda.so")
  file(MAKE_DIRECTORY "${WORK}/scalecalc")
  file(COPY_FILE "${EMULATED}" "${WORK}/scalecalc/scalecalc_cuda.so")
  set(ENV{LD_LIBRARY_PATH} "${WORK}:.")
  set(ENV{PATH} "${bin}:$ENV{PATH}")
  set(PROGRAM scalecalc)
  expect_none("no plug-in scalecalc_cuda.so")
endfunction()

function(case_other_version)
  file(COPY_FILE "${OTHER}" "${bin}/scalecalc_cuda.so")
  expect_none("${bin}/scalecalc_cuda.so is of scalecalc 0.0.7-cafecafe, this is [0-9.]+-[0-9a-f]+")
endfunction()

function(case_text)
  file(WRITE "${bin}/scalecalc_cuda.so" "no library")
  expect_none("${bin}/scalecalc_cuda.so cannot be opened: file too short")
endfunction()

cmake_language(CALL case_${CASE})
