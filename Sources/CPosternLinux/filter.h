// Macros for filters of system calls (seccomp(2)), and the functions that complete and install a filter.
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
// The lower half of an argument, which contains flags, types and requests. Both architectures are little-endian.
#define ARGUMENT(n) (offsetof(struct seccomp_data, args) + 8 * (n))

#define LOAD(where) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (where))
#define IS(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (yes), (no))
#define HAS(bits, yes, no) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (bits), (yes), (no))
#define AT_LEAST(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (value), (yes), (no))
#define GIVE(action) BPF_STMT(BPF_RET | BPF_K, (action))
#define ALLOW SECCOMP_RET_ALLOW
#define DENY (SECCOMP_RET_ERRNO | EPERM)
#define ERROR(code) (SECCOMP_RET_ERRNO | (code))

// Permits `call` only where its argument `n` is `value`.
#define ONLY(call, n, value) IS((call), 0, 4), LOAD(ARGUMENT(n)), IS((value), 0, 1), GIVE(ALLOW), GIVE(DENY)
// Permits `call` only where its argument `n` has none of `bits`.
#define WITHOUT(call, n, bits) IS((call), 0, 4), LOAD(ARGUMENT(n)), HAS((bits), 0, 1), GIVE(DENY), GIVE(ALLOW)

#ifdef OWN_ARCHITECTURE

// The number of instructions that filter_finish adds in addition to one for each call of its list.
enum { FILTER_END = 2 };

// Writes to `filter` the instructions `begin`, then a list of `calls` that are forbidden whatever their arguments; all
// others are allowed. The longest jump is 255 instructions, hence the type of `count`. Returns the length.
static inline size_t filter_finish(
    struct sock_filter *filter, const struct sock_filter *begin, size_t size, const uint16_t *calls, uint8_t count) {
  size_t length = 0;
  for (; length < size; length++) filter[length] = begin[length];
  for (uint8_t index = 0; index < count; index++) {
    // Jumps to the DENY at the end, over the ALLOW.
    filter[length++] = (struct sock_filter)IS(calls[index], (uint8_t)(count - index), 0);
  }
  filter[length++] = (struct sock_filter)GIVE(ALLOW);
  filter[length++] = (struct sock_filter)GIVE(DENY);
  return length;
}

// Installs the filter for all threads. Returns 0, or errno.
static inline int filter_install(struct sock_filter *filter, size_t length) {
  struct sock_fprog program = {(unsigned short)length, filter};
  // Without SPEC_ALLOW, kernels before 5.16 mitigate speculation attacks, which slows the process down and is needed
  // only by programs that run foreign code.
  unsigned flags = SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_SPEC_ALLOW;
  long failed = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
  if (failed < 0) return errno;
  // A positive result is the id of a thread with other filters.
  return failed > 0 ? EBUSY : 0;
}

#endif

#endif
