#pragma once

#include <stddef.h>
#include <stdint.h>

/// libFuzzer as a library: runs `entry` on inputs as the arguments say; -sanitize=fuzzer links it.
int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*entry)(const uint8_t *data, size_t size));
