# One case of report.cmake, in a fresh folder.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}")
include("${CMAKE_CURRENT_LIST_DIR}/shell.cmake")

function(case_page)
  shell("$P report ${RUNS} > table; $P report ${RUNS} -o page.html > beside; cmp table beside")
  expect("the table is printed too" code EQUAL 0)
  file(READ "${WORK}/page.html" page)
  string(REGEX MATCHALL "<svg xmlns=" svgs "${page}")
  list(LENGTH svgs count)
  # At two depths four panels of both placements and one of each, the perplexity and the forecasts.
  expect("a panel of each" count EQUAL 14)
  string(REGEX MATCHALL "aria-label=" labels "${page}")
  list(LENGTH labels count)
  expect("each has words for who cannot see it" count EQUAL 14)
  expect("no script, no address" NOT page MATCHES "<script|src=|href=|url\\(|@import")
  foreach(text "<title>Placement experiment: post, pre at 1, 3 blocks</title>" "post, predicted"
      "post, measured" "norm of the gradient .nats." "validation loss .nats a token."
      "perplexity .pure number." "entropy of words, exact" "model.placement" "learning rate"
      "Training loss, 3 blocks" "Norm of the gradient, 1 block" ">rises<"
      "Gradient by layer over the steps: pre, 3 blocks" "step 20, measured" "fill-opacity"
      "What is said, and what came" "deep: pre still trains" "How good the forecasts were" "share that trained")
    expect("the page says ${text}" page MATCHES "${text}")
  endforeach()
  shell("$P report ${RUNS} -o a.json; head -c 2 a.json; $P report ${RUNS} -o none/page.html; echo $?")
  expect("other files as everywhere" out STREQUAL "{\n3\n")
endfunction()

function(case_unfinished)
  shell("cp -r ${RUNS} cut; sed -i 5q cut/pre-3-seed1.jsonl; printf '{\"st' >> cut/pre-3-seed1.jsonl
         rm cut/results.json; $P report cut -o page.html")
  expect("a folder under training" code EQUAL 0 AND
    out MATCHES "pre +3 [^\n]*1 unfinished, at step 10 of 20")
  shell("rm cut/corpus.json; $P report cut")
  expect("an older folder" code EQUAL 0 AND out MATCHES "steps to the target")
endfunction()

function(case_damaged)
  foreach(damage "3s/^./x/" "1s/\"group\"/\"gruop\"/" "1s/\"post\"/\"past\"/" "4s/\"loss\"/\"lass\"/"
      "2d" "$s/:\"[a-z]*\"/:\"fine\"/" "4{h;G}" "$p")
    shell("rm -rf bad; cp -r ${RUNS} bad; sed -i '${damage}' bad/post-1-seed0.jsonl; $P report bad")
    expect("${damage}" code EQUAL 2 AND
      err MATCHES "^scalecalc: [^\n]*post-1-seed0.jsonl:[0-9]+[^\n]*remove this file[^\n]*\n$")
  endforeach()
  shell("rm -rf bad; mkdir bad; touch bad/a.jsonl; $P report bad")
  expect("none begun" code EQUAL 2 AND err MATCHES "no run of the folder has begun")
  shell("rm -rf bad; cp -r ${RUNS} bad; echo x > bad/corpus.json; $P report bad")
  expect("a damaged corpus" code EQUAL 2 AND err MATCHES "the file is damaged .*corpus.json")
endfunction()

function(case_mixed)
  shell("cp -r ${RUNS} mixed; sed -i -e 's/,.sum.:.[0-9a-f]*.}$/}/' -e '1s/\"learning_rate\":[^,]*/\"learning_rate\":0.5/' mixed/pre-1-seed0.jsonl
         $P report mixed")
  expect("two experiments" code EQUAL 2 AND err MATCHES
    "the runs of the folder are not of one experiment .*: optimizer is not as in ")
endfunction()

function(case_browser)
  find_program(browser NAMES chromium-headless-shell chromium chromium-browser google-chrome)
  find_program(python python3)
  if(NOT browser OR NOT python)
    message("skipped: no browser here (Debian: chromium-headless-shell)")
    return()
  endif()
  shell("$P report ${RUNS} -o page.html >/dev/null &&
         ${python} ${CMAKE_CURRENT_LIST_DIR}/look_at_page.py ${browser} page.html")
  expect("the page as a browser shows it" code EQUAL 0)
  message("${out}")
endfunction()

cmake_language(CALL case_${CASE})
