// Landlock, landlock(7): permanent restrictions that a process imposes on itself. The C library has no functions for
// it, and Debian 12's kernel headers are older than the kernels it runs on. The numbers are part of the kernel's ABI.
#ifndef POSTERN_CLINUX_LANDLOCK_H
#define POSTERN_CLINUX_LANDLOCK_H

#include <stdint.h>

// Rights beneath a path, with the ABI that introduced them where it is not 1.
enum {
  CLINUX_LANDLOCK_EXECUTE = 1 << 0,
  CLINUX_LANDLOCK_WRITE_FILE = 1 << 1,
  CLINUX_LANDLOCK_READ_FILE = 1 << 2,
  CLINUX_LANDLOCK_READ_DIR = 1 << 3,
  CLINUX_LANDLOCK_REMOVE_DIR = 1 << 4,
  CLINUX_LANDLOCK_REMOVE_FILE = 1 << 5,
  CLINUX_LANDLOCK_MAKE_CHAR = 1 << 6,
  CLINUX_LANDLOCK_MAKE_DIR = 1 << 7,
  CLINUX_LANDLOCK_MAKE_REG = 1 << 8,
  CLINUX_LANDLOCK_MAKE_SOCK = 1 << 9,
  CLINUX_LANDLOCK_MAKE_FIFO = 1 << 10,
  CLINUX_LANDLOCK_MAKE_BLOCK = 1 << 11,
  CLINUX_LANDLOCK_MAKE_SYM = 1 << 12,
  CLINUX_LANDLOCK_REFER = 1 << 13,      // 2
  CLINUX_LANDLOCK_TRUNCATE = 1 << 14,   // 3
  CLINUX_LANDLOCK_IOCTL_DEV = 1 << 15,  // 5
};

// Rights for a TCP port (ABI 4).
enum { CLINUX_LANDLOCK_BIND_TCP = 1 << 0, CLINUX_LANDLOCK_CONNECT_TCP = 1 << 1 };

// Restrictions to processes of the same domain (ABI 6).
enum { CLINUX_LANDLOCK_SCOPE_ABSTRACT_UNIX = 1 << 0, CLINUX_LANDLOCK_SCOPE_SIGNAL = 1 << 1 };

// The ABI of this kernel, from 1; -ENOSYS where it has none, -EOPNOTSUPP where it is switched off, or another -errno.
int clinux_landlock_abi(void);

// A descriptor (close-on-exec) of a rule set that forbids `fs`, `net` and `scope` except for what the functions below
// allow, or -errno.
int clinux_landlock_rules(uint64_t fs, uint64_t net, uint64_t scope);

// A descriptor (close-on-exec, O_PATH) of a file or directory for `clinux_landlock_allow_path`, or -errno.
int clinux_landlock_open(const char *path);

// Allows `access` to the file `parent`, or beneath the directory `parent`. Returns 0, or errno.
int clinux_landlock_allow_path(int rules, int parent, uint64_t access);

// Allows `access` to a TCP port; binding port 0 means a port chosen by the kernel. Returns 0, or errno.
int clinux_landlock_allow_port(int rules, uint16_t port, uint64_t access);

// Enforces the rules permanently for the calling thread, and all threads and processes that it starts from now on.
// Needs no_new_privs. Returns 0, or errno.
int clinux_landlock_enforce(int rules);

#endif
