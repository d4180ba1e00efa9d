# The command train: its results, its files, what is wrong with a folder, and kills at any moment.
set(tiny train --placements post,pre --depths 1,2 --seeds 2 --steps 6 --record-every 2 --width 8
  --heads 2 --sequence 8 --batch 2 --tokens 2000 --validation-batches 1)
set(train_keys "")
foreach(key placement layers seed verdict final_loss perplexity steps steps_to_target records.0.gradient_norm
    forecast.trains forecast.probability forecast.parts.2.text forecast.rule first_gradient.predicted first_gradient.measured)
  list(APPEND train_keys results.runs.0.${key})
endforeach()
# Folders of an earlier build may have runs of another configuration.
set(folder "${CMAKE_CURRENT_BINARY_DIR}/train")
add_test(NAME "cli: train: fresh folders" COMMAND ${CMAKE_COMMAND} -E rm -rf ${folder})
set_tests_properties("cli: train: fresh folders" PROPERTIES LABELS cli FIXTURES_SETUP train_folder)
scalecalc_cli_test("train --help" ARGS train --help STDOUT "--profile.*--placements.*--text")
scalecalc_cli_test("train as JSON" ARGS ${tiny} -o ${folder}/json
  --format json JSON ${train_keys} results.cells.0.perplexity_standard_error
  results.cells.0.as_forecast results.cells.0.forecast_probability results.forecasts.brier
  results.forecasts.reliability.0.runs results.differences.0.key results.corpus.entropy)
scalecalc_cli_test("train as a table" ARGS ${tiny} -o ${folder}/table
  STDOUT "6 steps, 2 seeds.*post +1 +[0-9.e-]+ +./2 +./2.*pre +2 +[0-9.e-]+ +./2 +./2.*step size +least.*model.placement +\"pre\" +\"post\".*How good the forecasts were.*Brier score")
scalecalc_cli_test("train: steps to a loss" ARGS ${tiny} --target-loss 9 -o ${folder}/target
  STDOUT "steps to 9.*post +1 +[0-9.e-]+ +./2 +./2[^\n]* 1\n")
scalecalc_cli_test("train: a model file" ARGS train --model ${CMAKE_CURRENT_SOURCE_DIR}/tiny.toml
  --placements post,pre --depths 1 --seeds 1 --steps 2 --tokens 2000 -o ${folder}/model
  STDOUT "2 steps, 1 seeds.*post +1 +[0-9.e-]+")
file(MAKE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/texts/inner")
foreach(name a.txt inner/b.txt)
  configure_file("${CMAKE_CURRENT_SOURCE_DIR}/train.cmake" "${CMAKE_CURRENT_BINARY_DIR}/texts/${name}" COPYONLY)
endforeach()
foreach(level word byte)
  scalecalc_cli_test("train: a folder of texts by ${level}" ARGS train --placements pre --depths 1
    --seeds 1 --steps 2 --width 8 --heads 2 --sequence 8 --batch 2 --validation-batches 1
    --text "${CMAKE_CURRENT_BINARY_DIR}/texts" --text "${CMAKE_CURRENT_SOURCE_DIR}/tiny.toml"
    --level ${level} -o ${folder}/texts-${level} STDOUT "per byte\n.*text +texts and 1 more: .*bytes a token")
  scalecalc_cli_test("report: a folder of texts by ${level}" ARGS report ${folder}/texts-${level}
    --format json JSON results.cells.0.perplexity_per_byte)
  set_tests_properties("cli: train: a folder of texts by ${level}" PROPERTIES
    FIXTURES_REQUIRED train_folder FIXTURES_SETUP train_texts_${level})
  set_tests_properties("cli: report: a folder of texts by ${level}" PROPERTIES
    FIXTURES_REQUIRED train_texts_${level})
endforeach()
scalecalc_cli_test("train: tokens of a tokenizer" ARGS train --placements pre --depths 1
  --seeds 1 --steps 2 --width 8 --heads 2 --sequence 8 --batch 2 --validation-batches 1
  --text "${CMAKE_CURRENT_SOURCE_DIR}/train.cmake" --tokenizer ${CMAKE_CURRENT_SOURCE_DIR}/tokenizer.json
  -o ${folder}/bpe STDOUT "per byte\n.*tokens of tokenizer.json in [0-9]+ bytes.*words +298\n.*bytes a token +1\\.")
set_tests_properties("cli: train: tokens of a tokenizer" PROPERTIES FIXTURES_REQUIRED train_folder)
scalecalc_cli_test("train: event files" ARGS ${tiny} -o ${folder}/events
  --tensorboard ${folder}/events/board STDOUT "Placement experiment")
scalecalc_cli_test("train: event files that cannot be written" ARGS ${tiny} -o ${folder}/null
  --tensorboard /dev/null/board EXIT 3 STDERR "cannot make the folder")
scalecalc_cli_test("train: another optimizer and schedule" ARGS ${tiny} --schedule cosine --warmup 2
  --optimizer lion -o ${folder}/lion STDOUT "Placement experiment")
scalecalc_cli_test("train: places of dropout" ARGS ${tiny}
  --dropout-place input,branch+activation -o ${folder}/places STDOUT "post@input +1 +[0-9.e-]+ .*\
post@branch.activation +1 .*pre@input +1 .*pre@branch.activation +1 .*All that differs[^\n]*post@input\
.*post@branch.activation +model.dropout_place +.branch.activation. +.input.")
scalecalc_cli_test("train: a ramp in front of any branch" ARGS train --depths 1 --seeds 1 --steps 6
  --record-every 2 --width 8 --heads 2 --sequence 8 --batch 2 --tokens 2000 --validation-batches 1
  --placements none,none+ramp,pre+ramp@input --ramp 4 -o ${folder}/ramp
  STDOUT "none.ramp +1 .*pre.ramp@input +1 .*none.ramp +model.ramp +0.25 +")
scalecalc_cli_test("report: places of dropout" ARGS report ${folder}/places
  STDOUT "post@branch.activation, post@input, pre@branch.activation, pre@input at 1, 2 blocks\n")
set_tests_properties("cli: train: places of dropout" PROPERTIES FIXTURES_SETUP train_places)
set_tests_properties("cli: report: places of dropout" PROPERTIES FIXTURES_REQUIRED train_places)
foreach(name "train as JSON" "train as a table" "train: steps to a loss" "train: event files"
    "train: a model file" "train: places of dropout" "train: a ramp in front of any branch"
    "train: event files that cannot be written"
    "train: another optimizer and schedule")
  set_tests_properties("cli: ${name}" PROPERTIES FIXTURES_REQUIRED train_folder)
endforeach()

scalecalc_cli_error("train without a folder" EXIT 2 ARGS train SAYS "-o DIR is missing")
scalecalc_cli_error("train: unknown placement" EXIT 2 ARGS train --placements post,pree -o x
  SAYS "unknown placement 'pree' \\(--placements\\); did you mean 'pre'")
scalecalc_cli_error("train: a placement twice" EXIT 2 ARGS train --placements pre,pre -o x
  SAYS "'pre' is given twice")
scalecalc_cli_error("train: unknown place of dropout" EXIT 2 ARGS train --dropout-place inptu -o x
  SAYS "unknown place of dropout 'inptu' \\(--dropout-place\\); did you mean 'input'")
scalecalc_cli_error("train: an unknown place behind @" EXIT 2 ARGS train --placements pre@strem -o x
  SAYS "unknown place of dropout 'strem' \\(--placements\\); did you mean 'stream'")
scalecalc_cli_error("train: a place of dropout twice" EXIT 2
  ARGS train --dropout-place input+branch,branch+input -o x SAYS "'branch.input' is given twice")
scalecalc_cli_error("train: two ways to say places" EXIT 2
  ARGS train --placements pre@input --dropout-place branch -o x
  SAYS "'pre@input' has a place of dropout already \\(--dropout-place\\)")
scalecalc_cli_error("train: a place, and no dropout" EXIT 2
  ARGS train --dropout 0 --dropout-place input,branch -o x
  SAYS "dropout is 0, so its place changes nothing \\(none@input\\)")
scalecalc_cli_error("train: one model twice" EXIT 2 ARGS train --placements pre,pre@branch -o x
  SAYS "'pre' and 'pre@branch' are one model")
scalecalc_cli_error("train: two streams" EXIT 2 ARGS train --placements resi-dual@stream -o x
  SAYS "placement resi-dual has two streams.*\\(resi-dual@stream\\)")
scalecalc_cli_error("train: unknown profile" EXIT 2 ARGS train --profile ful -o x
  SAYS "unknown profile 'ful'.*did you mean 'full'")
scalecalc_cli_error("train: a model that is no transformer" EXIT 2 ARGS train --model mlp-relu -o x
  SAYS "the experiment is about language models")
scalecalc_cli_error("train: a head that reads one vector" EXIT 2 ARGS train --pool mean -o x
  SAYS "a pool leaves one vector of a sequence.*--pool none")
scalecalc_cli_error("train: classes that are not the words" EXIT 2
  ARGS train --head-classes 7 -o x SAYS "the head's classes are the words.*--head-classes 0")
scalecalc_cli_error("train: no text" EXIT 2 ARGS train --text none.txt -o x
  SAYS "no such text file \\(none\\.txt\\)")
scalecalc_cli_error("train: no loss to reach" EXIT 2 ARGS train --target-loss 0 -o x
  SAYS "--target-loss")
scalecalc_cli_error("train: steps and epochs" EXIT 2 ARGS train --steps 3 --epochs 2 -o x
  SAYS "--steps and --epochs say the same")
scalecalc_cli_error("train: a ramp that no placement has" EXIT 2
  ARGS train --ramp 100 --placements none,post -o x
  SAYS "none of the placements has a ramp \\(--ramp\\); leave it out, or name one with a ramp: --placements none,none.ramp")
scalecalc_cli_error("train: a ramp twice" EXIT 2 ARGS train --placements branchnorm+ramp -o x
  SAYS "'branchnorm' has a ramp already \\(--placements\\)")
scalecalc_cli_error("train: a ramp of what is trained" EXIT 2 ARGS train --placements rezero+ramp -o x
  SAYS "the branches of 'rezero' have a scalar that is trained from 0")
scalecalc_cli_error("train: a level of no text" EXIT 2 ARGS train --level byte -o x
  SAYS "the text is generated, of words \\(--level\\)")
scalecalc_cli_error("train: a length of a text that is read" EXIT 2
  ARGS train --text ${CMAKE_CURRENT_LIST_FILE} --tokens 2000 -o x
  SAYS "the length of the text is that of --text \\(--tokens\\)")
scalecalc_cli_error("train: words of the generated text" EXIT 2 ARGS train --vocab 50 -o x
  SAYS "the generated text has words of its own \\(--vocab\\)")
scalecalc_cli_error("train: words among bytes" EXIT 2
  ARGS train --text ${CMAKE_CURRENT_LIST_FILE} --level byte --vocab 50 -o x
  SAYS "bytes are 256 \\(--vocab\\)")
set(text_by ARGS train --text ${CMAKE_CURRENT_LIST_FILE} -o x --tokenizer)
scalecalc_cli_error("train: a tokenizer that is none" EXIT 2 ${text_by} ${CMAKE_CURRENT_LIST_FILE}
  SAYS "this is no tokenizer file")
scalecalc_cli_error("train: a tokenizer that is not there" EXIT 2 ${text_by} none.json
  SAYS "no such tokenizer file")
foreach(also "--level;byte" "--vocab;50")
  scalecalc_cli_error("train: a tokenizer and ${also}" EXIT 2
    ${text_by} ${CMAKE_CURRENT_SOURCE_DIR}/tokenizer.json ${also} SAYS "the .* tokens|the words are")
endforeach()
scalecalc_cli_error("train: a tokenizer of no text" EXIT 2
  ARGS train -o x --tokenizer ${CMAKE_CURRENT_SOURCE_DIR}/tokenizer.json
  SAYS "the text is generated, of words \\(--tokenizer\\)")
scalecalc_cli_error("train: tokens of no tokenizer" EXIT 2
  ARGS train --text ${CMAKE_CURRENT_LIST_FILE} --level bpe -o x
  SAYS "the tokens are those of a tokenizer .*give --tokenizer FILE")
foreach(rate IN ITEMS 0 0e5)
  scalecalc_cli_error("train: a learning rate of ${rate}" EXIT 2
    SAYS "a learning rate of 0 trains nothing \\(--learning-rate\\)" ARGS train --lr ${rate} -o x)
endforeach()
scalecalc_cli_error("train: two learning rates of 0" EXIT 2 SAYS "a learning rate of 0 trains nothing"
  ARGS train --optimizer muon+adamw --lr 0+0 -o x)
scalecalc_cli_error("train: a short text" EXIT 2 ARGS train --tokens 200 --sequence 64 -o x
  SAYS "20 tokens for validation are no sequence of 64")
scalecalc_cli_error("train: no folder can be made" EXIT 3 ARGS ${tiny} -o /dev/null/runs
  SAYS "cannot make the folder")

foreach(case killed interrupted full damaged mixture finetuned)
  add_test(NAME "cli: train: ${case}" COMMAND ${CMAKE_COMMAND}
    "-DPROGRAM=$<TARGET_FILE:scalecalc_program>" "-DCASE=${case}"
    "-DWORK=${CMAKE_CURRENT_BINARY_DIR}/train-${case}"
    -P "${CMAKE_CURRENT_SOURCE_DIR}/train_case.cmake")
  set_tests_properties("cli: train: ${case}" PROPERTIES LABELS cli)
endforeach()
