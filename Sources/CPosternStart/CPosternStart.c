#include "CPosternStart.h"

#include <signal.h>
#include <string.h>

// A SIGHUP right after the start requests what happens anyway: the configuration is about to be read. By default it would
// end the process. Other commands start programs, which inherit what is ignored.
static void ignore_hangup(int count, char **arguments, char **environment) {
  (void)environment;
  if (count < 2 || strcmp(arguments[1], "serve") != 0) return;
  signal(SIGHUP, SIG_IGN);
}

// Runs before the constructors of libraries. A signal that arrives earlier, while libraries are loaded, still ends the
// process.
__attribute__((section(".preinit_array"), used)) static void (*const first)(int, char **, char **) = ignore_hangup;
