// The words that filters of system calls are written in (seccomp(2)), and what is at the end of each of them.
#ifndef POSTERN_FILTER_H
#define POSTERN_FILTER_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#ifndef SECCOMP_RET_KILL_PROCESS
#define SECCOMP_RET_KILL_PROCESS 0x80000000U
#endif

#define NUMBER offsetof(struct seccomp_data, nr)
#define ARCHITECTURE offsetof(struct seccomp_data, arch)
// The lower half of an argument: where flags, types and requests are. Both architectures are little-endian.
#define ARGUMENT(n) (offsetof(struct seccomp_data, args) + 8 * (n))

#define LOAD(where) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (where))
#define IS(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (yes), (no))
#define HAS(bits, yes, no) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (bits), (yes), (no))
#define AT_LEAST(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (value), (yes), (no))
#define GIVE(action) BPF_STMT(BPF_RET | BPF_K, (action))
#define ALLOW SECCOMP_RET_ALLOW
#define DENY (SECCOMP_RET_ERRNO | EPERM)
#define REFUSE(code) (SECCOMP_RET_ERRNO | (code))

#ifdef OWN_ARCHITECTURE

// Instructions that filter_finish adds beside one for each call of its list.
enum { FILTER_END = 2 };

// Writes `begin` to `filter`, then a list of `calls` that are forbidden whatever their arguments; all else is allowed.
// A jump goes no further than 255 instructions, hence the type of `count`. Returns the length.
static inline size_t filter_finish(
    struct sock_filter *filter, const struct sock_filter *begin, size_t size, const uint16_t *calls, uint8_t count) {
  size_t length = 0;
  for (; length < size; length++) filter[length] = begin[length];
  for (uint8_t index = 0; index < count; index++) {
    // To the end of the list, over the ALLOW behind it.
    filter[length++] = (struct sock_filter)IS(calls[index], (uint8_t)(count - index), 0);
  }
  filter[length++] = (struct sock_filter)GIVE(ALLOW);
  filter[length++] = (struct sock_filter)GIVE(DENY);
  return length;
}

// Puts all threads under the filter. Returns 0, or errno.
static inline int filter_install(struct sock_filter *filter, size_t length) {
  struct sock_fprog program = {(unsigned short)length, filter};
  // Kernels before 5.16 slow a filtered process down against speculation, which is for those that run foreign code.
  unsigned flags = SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_SPEC_ALLOW;
  long refused = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
  if (refused < 0) return errno;
  // The thread that has filters of its own.
  return refused > 0 ? EBUSY : 0;
}

#endif

#endif
