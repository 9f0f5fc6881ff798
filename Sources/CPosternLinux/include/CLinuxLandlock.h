// Landlock, landlock(7): rules a process gives itself, and cannot take back. The C library has no functions for it, and
// the kernel headers of Debian 12 know less than the kernels it runs on: the numbers are part of the kernel's ABI.
#ifndef POSTERN_CLINUX_LANDLOCK_H
#define POSTERN_CLINUX_LANDLOCK_H

#include <stdint.h>

// What may be done beneath a path. The ABI that brought a right, where it is not 1, stands behind it.
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

// What may be done with a TCP port: ABI 4.
enum { CLINUX_LANDLOCK_BIND_TCP = 1 << 0, CLINUX_LANDLOCK_CONNECT_TCP = 1 << 1 };

// What may not be reached outside of the domain: ABI 6.
enum { CLINUX_LANDLOCK_SCOPE_ABSTRACT_UNIX = 1 << 0, CLINUX_LANDLOCK_SCOPE_SIGNAL = 1 << 1 };

// The ABI of this kernel, from 1; -ENOSYS where it has none, -EOPNOTSUPP where it is switched off, or another -errno.
int clinux_landlock_abi(void);

// A descriptor (close-on-exec) of rules that forbid all of `fs`, `net` and `scope` but what is allowed next, or -errno.
int clinux_landlock_rules(uint64_t fs, uint64_t net, uint64_t scope);

// A descriptor (close-on-exec) that stands for a place in the file system and reads nothing (O_PATH), or -errno.
int clinux_landlock_place(const char *path);

// Allows `access` beneath what `place` stands for. Returns 0, or errno.
int clinux_landlock_allow_path(int rules, int place, uint64_t access);

// Allows `access` to a TCP port; 0 to bind means any that the kernel chooses. Returns 0, or errno.
int clinux_landlock_allow_port(int rules, uint16_t port, uint64_t access);

// Puts the calling thread under the rules, with all threads and processes it starts from now on, for good. Needs
// no_new_privs. Returns 0, or errno.
int clinux_landlock_enforce(int rules);

#endif
