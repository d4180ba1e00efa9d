# One case of train.cmake, in a fresh folder.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}")

set(train "train --placements none,post,branchnorm --depths 1,3 --seeds 1 --steps 40
  --record-every 8 --width 16 --heads 2 --sequence 16 --batch 4 --tokens 3000
  --validation-batches 2 --format json")
string(REPLACE "\n" " " train "${train}")
string(REPLACE "--steps 40" "--steps 100000" long "${train}")

include("${CMAKE_CURRENT_LIST_DIR}/shell.cmake")

# Kills at a random moment of 10 to 109 ms, twenty times, then goes on: the files are those of an
# undisturbed training, byte for byte, which takes about as long as the kills leave it.
function(case_killed)
  shell("$P ${train} --threads 1 -o whole >whole.json")
  expect("undisturbed" code EQUAL 0)
  set(killed 0)
  foreach(round RANGE 1 20)
    string(RANDOM LENGTH 2 ALPHABET 0123456789 fraction)
    math(EXPR delay "1010 + 1${fraction} - 100")
    string(SUBSTRING ${delay} 1 3 delay)
    math(EXPR threads "1 + ${round} % 2")
    shell("$P ${train} --threads ${threads} -o parts >parts.json & pid=$!
           sleep 0.${delay}; kill -9 $pid 2>/dev/null && echo killed; wait $pid; true")
    if(out MATCHES "killed")
      math(EXPR killed "${killed} + 1")
    endif()
  endforeach()
  shell("$P ${train} -o parts >parts.json")
  expect("the same command goes on" code EQUAL 0)
  message("${killed} times killed")
  expect("something was killed" killed GREATER 0)
  shell("diff -r whole parts && cmp whole.json parts.json")
  expect("the same bytes" code EQUAL 0)
endfunction()

# Each of a mixture has its rate, which logs keep and a report says.
function(case_mixture)
  set(mixture "${train} --optimizer Muon+AdamW --learning-rate 0.02+0.003")
  shell("$P ${mixture} -o a > a.json; $P ${mixture} -o a > b.json; cmp a.json b.json && $P report a -o a.html >table
         grep -o 'muon.adamw: learning rate [^,]*' a.html")
  expect("kept and reported" code EQUAL 0 AND
    out STREQUAL "muon+adamw: learning rate 0.02+0.003\n")
  shell("head -c 3000 a/post-3-seed0.jsonl; head -c 4000 a.json")
  expect("logged" out MATCHES "\"rest\":{" AND out MATCHES "\"optimizer\": \"muon.adamw\"")
  shell("$P ${train} --optimizer adamw -o b > c.json; head -c 3000 b/post-3-seed0.jsonl")
  expect("one optimizer as before" code EQUAL 0 AND NOT out MATCHES "\"rest\"")
  shell("$P ${train} --optimizer muon+adan -o c; $P ${train} --learning-rate 1+2 -o c; ls c")
  expect("refused" code EQUAL 2 AND err MATCHES "unknown optimizer 'adan'" AND
    err MATCHES "--learning-rate must be a number")
endfunction()

# Trained on numbers that rise, tuned on numbers that fall: each run begins where the same one ended,
# a killed tuning goes on with the same bits, and what contradicts the weights is one line.
function(case_finetuned)
  set(model "train --placements post,pre+ramp --depths 1,2 --seeds 2 --width 8 --heads 2 --sequence 8
    --batch 2 --validation-batches 2 --format json")
  string(REPLACE "\n" " " model "${model}")
  shell("seq 2000 >up.txt; { seq 2000 -1 1; echo a word; } >down.txt
         $P ${model} --text up.txt --vocab 500 --steps 8 --record-every 4 --keep-weights -o up >up.json")
  expect("weights are kept" code EQUAL 0)
  set(tune "train --finetune-from up --text down.txt --steps 60 --record-every 5 --format json")
  shell("$P ${tune} -o whole >whole.json")
  expect("tuned" code EQUAL 0)
  foreach(round RANGE 1 8)
    shell("$P ${tune} -o parts >parts.json & pid=$!; sleep 0.0${round}; kill -9 $pid 2>/dev/null; wait $pid; true")
  endforeach()
  shell("$P ${tune} -o parts >parts.json && diff -r whole parts && cmp whole.json parts.json")
  expect("killed, the same bytes" code EQUAL 0)
  file(READ "${WORK}/up.json" up)
  file(READ "${WORK}/whole.json" whole)
  foreach(i RANGE 7)
    string(JSON ended GET "${up}" results runs ${i} final_loss)
    string(JSON began GET "${whole}" results runs ${i} start pretraining_loss)
    string(JSON noted GET "${whole}" results runs ${i} start final_loss)
    string(JSON forecast ERROR_VARIABLE none GET "${whole}" results runs ${i} forecast)
    expect("run ${i} begins where it ended: ${ended}, ${began}" ended EQUAL began AND
      ended EQUAL noted)
    expect("nothing is forecast" none MATCHES "not found")
  endforeach()
  string(JSON unknown GET "${whole}" results corpus unknown)
  expect("words that the first text lacked" unknown GREATER 0 AND unknown LESS 1)
  shell("$P report whole -o page.html && grep -c 'Loss on the text of pre-training' page.html
         $P report whole --format json | grep -c '\"forgotten\"'")
  expect("reported" code EQUAL 0 AND out MATCHES "Fine-tuned, from the weights of 8 steps on up.txt" AND
    out MATCHES "forgotten" AND NOT out MATCHES "forecast")
  foreach(wrong
      "--width 16|model.width is 16 here, and the weights were trained with 8"
      "--vocab 9|the words are those that the weights of --finetune-from were trained with .--vocab."
      "--model gpt2|the model is the one that the weights"
      "--level byte|tokens of another kind"
      "--task copy --text-less|draws its own symbols"
      "--placements none|there is no run none-1-seed0 to start from"
      "--depths 3|there is no run post-3-seed0"
      "--seeds 3|there is no run post-1-seed2"
      "--seed 7|there is no run post-1-seed7"
      "--ramp 4|the ramp stays where"
      "--grid lr=1e-3,1e-2|a grid begins with drawn weights")
    string(REGEX REPLACE "\\|.*" "" options "${wrong}")
    string(REGEX REPLACE "^[^|]*\\|" "" says "${wrong}")
    string(REPLACE " --text-less" "" options "${options}")
    shell("$P ${tune} ${options} -o wrong")
    expect("${options}: ${err}" code EQUAL 2 AND err MATCHES "^scalecalc: [^\n]*${says}[^\n]*\n$")
  endforeach()
  shell("$P ${tune} -o up; $P ${tune} --lr 0.1 -o whole; $P train --finetune-from none -o x
         $P train --finetune-from up -o x; $P ${model} -o plain --tokens 2000 --steps 2 >/dev/null
         $P train --finetune-from plain -o x; $P train --grid lr=1e-3,1e-2 --keep-weights -o x")
  expect("folders: ${err}" err MATCHES "^[^\n]*a file that is read and would be written[^\n]*\n\
[^\n]*learning_rate is 0.003 there and 0.1 here[^\n]*\n[^\n]*no such folder[^\n]*\n\
[^\n]*no word of the text is among[^\n]*\n[^\n]*keeps no weights[^\n]*--keep-weights[^\n]*\n[^\n]*a grid keep no weights[^\n]*\n$")
endfunction()

function(case_interrupted)
  shell("$P ${long} -o runs & pid=$!; sleep 0.5; kill -INT $pid; wait $pid; echo $?")
  expect("Ctrl-C" out STREQUAL "130\n" AND err MATCHES "scalecalc: interrupted. the same command goes on")
  shell("ls runs")
  expect("a checkpoint is kept" out MATCHES "checkpoint\n" AND NOT out MATCHES "tmp")
endfunction()

function(case_full)
  shell("ulimit -f 8; trap '' XFSZ; $P ${train} -o runs")
  expect("no space" code EQUAL 3 AND err MATCHES "^scalecalc: cannot write the [a-z]+ [^\n]*\n$")
  shell("$P ${train} -o whole >whole.json; $P ${train} -o runs >runs.json && diff -r whole runs")
  expect("with space it goes on" code EQUAL 0)
  shell("mkdir locked; $P ${long} -o locked & pid=$!; sleep 0.3
         $P ${long} -o locked; code=$?; kill -9 $pid; wait $pid; exit $code")
  expect("two at once" code EQUAL 2 AND err MATCHES "another process is at this run")
endfunction()

function(case_damaged)
  shell("$P ${train} -o runs >/dev/null; $P ${train} -o runs --learning-rate 0.1")
  expect("another experiment" code EQUAL 2 AND
    err MATCHES "another configuration .*optimizer.learning_rate is 0.003 there and 0.1 here")
  shell("sed -i '3s/^./x/' runs/post-1-seed0.jsonl; $P ${train} -o runs")
  expect("a damaged log" code EQUAL 2 AND err MATCHES "the log is damaged .*post-1-seed0.jsonl:3")
endfunction()

cmake_language(CALL case_${CASE})
