# One case of mpi.cmake, in a fresh folder that is this run's alone, Open MPI's files too: the same
# case may run on the machine at the same time, of this build or of another.
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND mktemp -d OUTPUT_VARIABLE WORK OUTPUT_STRIP_TRAILING_WHITESPACE
  COMMAND_ERROR_IS_FATAL ANY)
file(MAKE_DIRECTORY "${WORK}/mpi")
set(ENV{TMPDIR} "${WORK}/mpi")

# As any user, on fewer cores than ranks, without a network, and without a word of Open MPI's own.
foreach(setting ALLOW_RUN_AS_ROOT ALLOW_RUN_AS_ROOT_CONFIRM MCA_rmaps_base_oversubscribe
    MCA_orte_execute_quiet)
  set(ENV{OMPI_${setting}} 1)
endforeach()
set(ENV{OMPI_MCA_hwloc_base_binding_policy} none)
set(ENV{OMPI_MCA_btl} self,vader)
set(ENV{OMPI_MCA_btl_vader_single_copy_mechanism} none)
set(ENV{OMPI_MCA_plm_rsh_agent} false)
# What MPI leaves allocated is not this program's.
set(ENV{ASAN_OPTIONS} detect_leaks=0)

string(CONCAT train "train --placements none,post,branchnorm --depths 1,3 --seeds 2 --steps 40"
  " --record-every 8 --width 16 --heads 2 --sequence 16 --batch 4 --tokens 3000"
  " --validation-batches 2 --format json")
string(REPLACE "--steps 40" "--steps 120" longer "${train}")

set(nothing "")
include("${CMAKE_CURRENT_LIST_DIR}/shell.cmake")
# The same with `ranks N` for mpirun.
macro(job line)
  shell("ranks() { n=$1; shift; '${MPIRUN}' -n $n \"$@\"; }; ${line}")
endmacro()
# How often the program has spoken on stderr; mpirun speaks there too.
function(expect_once what message)
  string(REGEX MATCHALL "(^|\n)scalecalc: " said "\n${err}")
  list(LENGTH said count)
  expect("${what}" count EQUAL 1 AND err MATCHES "scalecalc: [^\n]*${message}")
endfunction()

function(case_train)
  shell("$P ${train} --threads 1 -o one >one.json")
  expect("one process" code EQUAL 0)
  foreach(ranks 2 3)
    job("ranks ${ranks} $P ${train} --threads ${ranks} -o some >some.json &&
           diff -r one some && cmp one.json some.json; code=$?; rm -rf some; exit $code")
    expect("${ranks} ranks" code EQUAL 0 AND err STREQUAL nothing)
  endforeach()
endfunction()

# Of depths and seeds; more ranks than passes; a table, and a file of -o.
function(case_sweep)
  set(sweep "sweep --layers 2,4 --optimizer adam --width 16 --heads 2 --sequence 6 --vocab 11")
  foreach(seeds 1 3)
    shell("$P ${sweep} --seeds ${seeds} --threads 1 --format json >one.json &&
           $P ${sweep} --seeds ${seeds} >one.txt")
    expect("one process" code EQUAL 0)
    foreach(ranks 2 3)
      job("ranks ${ranks} $P ${sweep} --seeds ${seeds} --threads 2 -o some.json &&
             ranks ${ranks} $P ${sweep} --seeds ${seeds} >some.txt &&
             cmp one.json some.json && cmp one.txt some.txt")
      expect("${ranks} ranks, ${seeds} seeds" code EQUAL 0 AND err STREQUAL nothing)
    endforeach()
  endforeach()
endfunction()

# Two seeds are fewer than three ranks.
function(case_verify)
  shell("printf '[model]\\nkind = \"transformer\"\\nlayers = 2\\nwidth = 32\\nheads = 2\\nffn = 64\\nvocab = 11\\nsequence = 6\\n' >model.toml")
  set(verify "verify model.toml --format json")
  foreach(seeds 2 7)
    shell("$P ${verify} --seeds ${seeds} --threads 1 >one.json")
    expect("one process" code EQUAL 0)
    foreach(ranks 2 3)
      job("ranks ${ranks} $P ${verify} --seeds ${seeds} --threads 2 >some.json && cmp one.json some.json")
      expect("${ranks} ranks, ${seeds} seeds" code EQUAL 0 AND err STREQUAL nothing)
    endforeach()
  endforeach()
endfunction()

# A rank is killed once a run is finished, in turn the first and the last; mpirun ends the others.
# Both the same command and one process go on to the bytes of an undisturbed training.
function(case_killed)
  shell("$P ${longer} --threads 1 -o whole >whole.json")
  expect("undisturbed" code EQUAL 0)
  foreach(lost 0 1)
    job("export P; ranks 2 sh -c 'echo $$ >pid-$OMPI_COMM_WORLD_RANK; exec $P ${longer} --threads 1 -o parts' &
           for round in $(seq 6000); do grep -ls verdict parts/*.jsonl && break; sleep 0.05; done
           kill -9 $(cat pid-${lost}) || exit 100; wait $!")
    expect("a lost rank ends the job" code GREATER 0 AND NOT code EQUAL 100)
    shell("grep -l verdict parts/*.jsonl >finished || exit 1
           for log in $(cat finished); do cmp $log whole/$(basename $log) || exit 1; done
           cp -r parts alone")
    expect("finished runs are kept" code EQUAL 0)
    job("ranks 2 $P ${longer} --threads 1 -o parts >parts.json && $P ${longer} -o alone >alone.json &&
           diff -r whole parts && diff -r whole alone &&
           cmp whole.json parts.json && cmp whole.json alone.json
           code=$?; rm -rf parts alone pid-*; exit $code")
    expect("the same bytes" code EQUAL 0)
  endforeach()
endfunction()

# Only the second rank meets the damaged log; only the first speaks.
function(case_damaged)
  job("$P ${train} -o runs >runs.json; sed -i '3s/^./x/' runs/none-1-seed1.jsonl
         ranks 2 $P ${train} -o runs")
  expect("a damaged log" code EQUAL 2 AND out MATCHES "^[^\n]+\n +\"scalecalc\"[^\n]+\n +\"error\": " AND
    NOT out MATCHES "\"error\".*\"error\"")
  expect_once("a damaged log, said once" "the log is damaged .*none-1-seed1.jsonl:3")
endfunction()

function(case_wrong)
  job("ranks 3 $P train --placements post,pree -o runs")
  expect("an unknown placement" code EQUAL 2 AND out STREQUAL nothing)
  expect_once("an unknown placement, said once" "unknown placement 'pree'")
  job("ranks 2 $P verify none.toml")
  expect("no such model" code EQUAL 2)
  expect_once("no such model, said once" "none.toml")
  job("ranks 2 $P sweep --layer 2")
  expect("an unknown option" code EQUAL 2)
  expect_once("an unknown option, said once" "--layer")
  job("ranks 2 $P sweep --layers 2 --optimizer adam -o none/results.json")
  expect("nowhere to write" code EQUAL 3)
  expect_once("nowhere to write, said once" "cannot write the results")
  job("cp $P alone && ranks 2 ./alone verify gpt2")
  expect("without the plug-in" code EQUAL 3)
  expect_once("without the plug-in, said once" "built without MPI")
endfunction()

# Commands with nothing to share run once; a rank that is alone needs no MPI.
function(case_rest)
  foreach(arguments "deepnorm --layers 4 --optimizer adam" "--version" "sweep --help")
    job("$P ${arguments} >one && ranks 2 $P ${arguments} >two && cmp one two")
    expect("${arguments}" code EQUAL 0 AND err STREQUAL nothing)
  endforeach()
  job("cp $P alone && ranks 1 ./alone sweep --layers 1,2 --seeds 2 --width 8 --heads 2 --optimizer adam >/dev/null")
  expect("one rank" code EQUAL 0)
endfunction()

# The starter of another MPI gives ranks that this one does not know: none of them trains.
function(case_starter)
  shell("export PMI_SIZE=2; PMI_RANK=1 $P ${train} -o runs & PMI_RANK=0 $P ${train} -o runs; first=$?
         wait $! && exit 100; test ! -e runs || exit 101; exit $first")
  expect("a foreign starter" code EQUAL 3 AND out MATCHES "^[^\n]+\n +\"scalecalc\"[^\n]+\n +\"error\": ")
  expect_once("a foreign starter, said once" "started as rank 0 of 2, and MPI knows rank 0 of 1 .MPI.. start it by the mpirun")
  shell("PMI_SIZE=1 PMI_RANK=0 $P ${train} -o runs >one.json")
  expect("one rank needs no MPI" code EQUAL 0 AND err STREQUAL nothing)
endfunction()

cmake_language(CALL case_${CASE})
file(REMOVE_RECURSE "${WORK}")
