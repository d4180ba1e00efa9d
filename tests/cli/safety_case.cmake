# One case of safety.cmake, in a fresh folder.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}")

include("${CMAKE_CURRENT_LIST_DIR}/shell.cmake")

set(empty "")
set(claims "[[claim]]\\nassert = '1 + 1 == 2'\\n")
set(train "train --placements post --depths 1 --seeds 1 --steps 4 --record-every 2 --width 8 --heads 2
  --sequence 8 --batch 2 --tokens 2000 --validation-batches 1")
string(REPLACE "\n" " " train "${train}")
# A text that is read has its own length.
string(REPLACE "--tokens 2000" "" reading "${train}")

# A model, claims, weights, and a folder of train.
macro(make_inputs)
  shell("mkdir in && cd in
         printf '[model]\\nkind = \"mlp\"\\nlayers = 2\\nwidth = 4\\n' > m.toml
         printf \"${claims}\" > c.toml
         $P init m.toml --weights w.safetensors >/dev/null && $P ${train} -o g >/dev/null
         $P check c.toml >/dev/null")
  expect("the inputs" code EQUAL 0)
endmacro()

# A signal while weights of 2 GB are drawn, over a file that is there: it stays, and nothing else is.
function(case_signals)
  set(big "init mlp-tanh --layers 30 --width 4096 --weights w.safetensors")
  foreach(pair "INT=130" "TERM=143" "HUP=129" "XCPU=152")
    string(REGEX MATCH "^[A-Z]+" signal "${pair}")
    string(REGEX MATCH "[0-9]+$" number "${pair}")
    shell("echo old > w.safetensors; $P ${big} & pid=$!
           for i in $(seq 500); do ls | grep -q tmp && break; sleep 0.01; done
           ls | grep -c tmp; kill -${signal} $pid; wait $pid; echo $?; ls; cat w.safetensors")
    expect("${signal}" out STREQUAL "1\n${number}\nw.safetensors\nold\n" AND err STREQUAL empty)
  endforeach()
  shell("trap '' HUP; $P init mlp-tanh --layers 8 --width 1024 --weights w.safetensors >/dev/null & pid=$!
         sleep 0.05; kill -HUP $pid; wait $pid; echo $?; ls")
  expect("under nohup it goes on" out STREQUAL "0\nw.safetensors\n")
  string(REPLACE "--steps 4" "--steps 1000000" long "${train}")
  foreach(pair "TERM=143" "HUP=129")
    string(REGEX MATCH "^[A-Z]+" signal "${pair}")
    string(REGEX MATCH "[0-9]+$" number "${pair}")
    shell("$P ${long} -o runs${number} & pid=$!; sleep 0.5; kill -${signal} $pid; wait $pid; echo $?
           ls runs${number} | grep -c -e checkpoint; ls runs${number} | grep -c -e tmp")
    expect("a training keeps its state at ${signal}" out STREQUAL "${number}\n1\n0\n")
  endforeach()
  shell("ulimit -f 8; $P init mlp-tanh --width 256 --weights full.safetensors; echo $?; ls *full*")
  expect("a file above the limit of the system" out MATCHES "^3\n")
endfunction()

# Each command that reads a file and writes one, under each name that the file has.
function(case_overwritten)
  make_inputs()
  foreach(words
      "audit in/w.safetensors --model in/m.toml -o @in/w.safetensors"
      "audit in/w.safetensors --model in/m.toml -o @in/m.toml"
      "check in/c.toml -o @in/c.toml"
      "check in -o @in/c.toml"
      "check in/c.toml --junit @in/c.toml"
      "init in/m.toml -o @in/m.toml"
      "init in/m.toml --target pytorch -o @in/m.toml"
      "init in/m.toml --weights @in/m.toml"
      "propagate in/m.toml -o @in/m.toml"
      "propagate in/m.toml --engine symbolic -o @in/m.toml"
      "verify in/m.toml --seeds 2 -o @in/m.toml"
      "report in/g -o @in/g/post-1-seed0.jsonl"
      "report in/g -o @in/g/corpus.json"
      "train --text in/c.toml -o in/g --tensorboard @in/c.toml"
      "train --text in/g/corpus.json --level byte -o in/g"
      "train --text in/g/post-1-seed0.jsonl --level byte -o in/g")
    foreach(alias same dotted absolute symbolic hard)
      set(line "${words}")
      string(REGEX MATCH "@[^ ]+" marked "${words}")
      string(SUBSTRING "${marked}x" 1 -1 path)
      string(REGEX REPLACE "x$" "" path "${path}")
      set(make "true")
      set(name "${path}")
      if(alias STREQUAL "dotted")
        set(name "in/../././${path}")
      elseif(alias STREQUAL "absolute")
        set(name "${WORK}/${path}")
      elseif(alias STREQUAL "symbolic")
        set(make "ln -s '${WORK}/${path}' alias")
        set(name "alias")
      elseif(alias STREQUAL "hard")
        set(make "ln '${path}' alias")
        set(name "alias")
      endif()
      if(marked STREQUAL "" AND NOT alias STREQUAL "same")
        continue()
      endif()
      if(NOT marked STREQUAL "")
        string(REPLACE "${marked}" "${name}" line "${words}")
      endif()
      if(words MATCHES "tensorboard")
        continue()
      endif()
      shell("rm -rf alias before; cp -r in before; ${make}; timeout 60 $P ${line}; echo $?
             diff -r before in && echo untouched; ls | grep tmp")
      expect("${line} (${alias})" out MATCHES "^2\nuntouched\n$" AND
        err MATCHES "^scalecalc: [^\n]*(names a file that is read|has a file that is read|no format has the extension)[^\n]*\n$")
    endforeach()
  endforeach()
endfunction()

# Two options that name one file, there or not.
function(case_both_outputs)
  make_inputs()
  foreach(words
      "check in/c.toml -o A --junit B"
      "activation gelu -o A --plot B"
      "propagate in/m.toml -o A --plot B"
      "init in/m.toml -o A --weights B"
      "report in/g -o A --plot B")
    foreach(names "a.svg a.svg" "a.svg ./a.svg" "a.svg in/../a.svg" "a.svg ${WORK}/a.svg"
        "a.svg link.svg" "a.svg hard.svg")
      string(REPLACE " " ";" pair "${names}")
      list(GET pair 0 a)
      list(GET pair 1 b)
      string(REPLACE "-o A" "--format md -o ${a}" line "${words}")
      string(REPLACE " B" " ${b}" line "${line}")
      shell("rm -f *.svg; case ${b} in hard*) echo old > a.svg; ln a.svg hard.svg;;
             link*) ln -s a.svg link.svg;; esac
             timeout 60 $P ${line}; echo $?; cat a.svg 2>/dev/null")
      expect("${line}" out MATCHES "^2\n(old\n)?$" AND err MATCHES "name one file")
    endforeach()
  endforeach()
  shell("$P check in/c.toml -o /dev/null --junit /dev/null")
  expect("a device keeps nothing" code EQUAL 0)
endfunction()

function(case_mode)
  foreach(mode 600 640 644 664 666 700 755 777)
    shell("umask 077; echo old > a.csv; chmod ${mode} a.csv; $P list formats -o a.csv; stat -c %a a.csv")
    expect("${mode}" out STREQUAL "${mode}\n")
  endforeach()
  shell("umask 027; $P list formats -o new.csv; stat -c %a new.csv")
  expect("a new file is as the umask says" out STREQUAL "640\n")
endfunction()

# What is no regular file in the place of each input: nothing hangs, crashes, or is called a defect.
function(case_special)
  make_inputs()
  shell("mkfifo pipe; mkdir folder; ln -s /dev/zero zero; ln -s /dev/urandom random; ln -s none broken
         ln -s loop loop; truncate -s 1T huge; : > empty")
  foreach(special pipe folder zero random broken loop huge empty /dev/null /dev/stdin)
    foreach(words "propagate @" "init @" "verify @" "check @" "audit @ --model in/m.toml"
        "audit in/w.safetensors --model @" "train --text @ -o t" "train --model @ -o t")
      string(REPLACE "@" "$x" line "${words}")
      shell("x=${special}; for end in '' .toml .safetensors .safetensors.index.json; do
             ln -sfn \"$x\" \"alias$end\"; done
             for x in ${special} alias.toml alias.safetensors alias.safetensors.index.json; do
             timeout 30 $P ${line} </dev/null >/dev/null; echo $?; done | sort -u")
      expect("${words} of ${special}" out MATCHES "^2\n$" AND NOT err MATCHES "defect|memory")
    endforeach()
    foreach(file post-1-seed0.jsonl corpus.json)
      foreach(words "report bad" "${train} -o bad")
        shell("rm -rf bad; cp -r in/g bad; ln -sf \"$(realpath -ms ${special})\" bad/${file}
               case ${special} in folder) rm bad/${file}; mkdir bad/${file};; esac
               timeout 30 $P ${words} </dev/null >/dev/null")
        expect("${words}: ${file} is ${special}" code MATCHES "^[023]$" AND NOT err MATCHES "defect|memory")
      endforeach()
    endforeach()
  endforeach()
endfunction()

# As a user to whom nothing belongs.
function(case_denied)
  shell("test $(id -u) = 0 && setpriv --reuid 65534 --regid 65534 --clear-groups \"$P\" --version")
  if(NOT code EQUAL 0)
    message("skipped: only root can become another user, who must be able to run the program")
    return()
  endif()
  make_inputs()
  shell("mkdir locked; echo x > locked/file; cp -r in/g locked/g; chmod 700 locked
         echo x > file; chmod 600 file; mkdir open; chmod 777 open; cp in/* open/ 2>/dev/null; true")
  foreach(words "${train} -o locked/x" "${train} -o locked" "${train} -o locked/x/y" "${train} -o x"
      "${reading} --text file -o open/t" "${reading} --text locked/file -o open/t" "report locked"
      "report locked/g" "check locked" "check locked/file" "check file" "propagate locked/file"
      "propagate file" "audit file --model in/m.toml" "audit locked --model in/m.toml"
      "audit locked/file --model in/m.toml" "init in/m.toml -o locked/x" "init in/m.toml -o file"
      "init in/m.toml --weights locked/x" "table --all -o locked" "table --all -o locked/x"
      "list formats -o locked/x.csv" "activation gelu --plot locked/x.svg")
    shell("setpriv --reuid 65534 --regid 65534 --clear-groups $P ${words}")
    expect("${words}" code MATCHES "^[23]$" AND NOT err MATCHES "defect" AND err MATCHES "^scalecalc: [^\n]+\n$")
  endforeach()
endfunction()

cmake_language(CALL case_${CASE})
