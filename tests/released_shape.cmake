# SPDX-License-Identifier: Apache-2.0
# The full released shape through the command line: made as sparse files, opened, proved, and removed. Usage:
# cmake -D cachalot=PROGRAM -D folder=DIR -P released_shape.cmake
function(run wanted)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE error)
  if(NOT code EQUAL 0 OR NOT out MATCHES "${wanted}")
    file(REMOVE_RECURSE ${folder})
    message(FATAL_ERROR "${ARGN}\nexit code ${code}, expected 0 and \"${wanted}\":\n${out}${error}")
  endif()
endfunction()

# The inventory as published: 96,085 tensors, 475.241 GiB.
file(REMOVE_RECURSE ${folder})
run("96085 tensors, 475.2 GiB, in [0-9]+ shards; 0 B of them written" ${cachalot} make-checkpoint --shape released --out ${folder})
run("\"tensor_count\":96085,\"bytes\":510286023000," ${cachalot} inspect ${folder} --json)
run("structure: 96085 tensors in [0-9]+ shards, 475.2 GiB" ${cachalot} verify ${folder})
execute_process(COMMAND du -sk ${folder} OUTPUT_VARIABLE taken)
string(REGEX MATCH "^[0-9]+" taken "${taken}")
file(REMOVE_RECURSE ${folder})
if(taken GREATER 50000)
  message(FATAL_ERROR "the sparse files take ${taken} KiB of disk, expected headers alone, about 17,000")
endif()
message("96085 tensors, 510286023000 bytes, of which ${taken} KiB on disk")
