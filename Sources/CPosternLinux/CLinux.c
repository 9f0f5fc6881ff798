// struct ucred is behind _GNU_SOURCE.
#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// Younger than the kernel headers of Debian 12; the numbers are part of the kernel's ABI.
#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59
#endif
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83
#endif

int clinux_peer_credentials(int fd, uid_t *uid, gid_t *gid, pid_t *pid) {
  struct ucred credentials;
  socklen_t length = sizeof credentials;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) return errno;
  *uid = credentials.uid;
  *gid = credentials.gid;
  *pid = credentials.pid;
  return 0;
}

int clinux_peer_groups(int fd, gid_t *groups, size_t capacity, size_t *count) {
  socklen_t length = (socklen_t)(capacity * sizeof(gid_t));
  int failed = getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &length) != 0 ? errno : 0;
  *count = failed == 0 || failed == ERANGE ? length / sizeof(gid_t) : 0;
  return failed;
}

int clinux_peer_pidfd(int fd) {
  int descriptor = -1;
  socklen_t length = sizeof descriptor;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &descriptor, &length) != 0) return -errno;
  return descriptor;
}

int clinux_process_open(pid_t pid) {
  long descriptor = syscall(SYS_pidfd_open, pid, 0);
  return descriptor < 0 ? -errno : (int)descriptor;
}

// struct pidfd_info in its first version.
struct process_info {
  uint64_t mask, cgroup;
  uint32_t pid, tgid, ppid, ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid;
  int32_t exit_code;
};
enum { PROCESS_CREDENTIALS = 1 << 1 };

int64_t clinux_process_user(int process, pid_t pid) {
  struct process_info info = {.mask = PROCESS_CREDENTIALS};
  if (ioctl(process, _IOWR(0xff, 11, struct process_info), &info) == 0 && (info.mask & PROCESS_CREDENTIALS) != 0)
    return info.euid;
  char path[32];
  struct stat status;
  snprintf(path, sizeof path, "/proc/%d", (int)pid);
  return stat(path, &status) != 0 ? -errno : (int64_t)status.st_uid;
}

int clinux_socket_pair(int ends[2]) {
  return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0 ? errno : 0;
}

int clinux_reject_descriptors(int fd) {
  int off = 0;
  return setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &off, sizeof off) != 0 ? errno : 0;
}

int clinux_forbid_dumps(void) { return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 ? errno : 0; }

void clinux_name_thread(const char *name) { (void)prctl(PR_SET_NAME, name, 0, 0, 0); }

int clinux_return_memory(int block, int free) {
  return mallopt(M_MMAP_THRESHOLD, block) == 1 && mallopt(M_TRIM_THRESHOLD, free) == 1 ? 0 : EINVAL;
}

void clinux_trim_memory(void) { malloc_trim(0); }

// Segments that can be written are left alone: what was relocated in them is in no file.
static int release_segments(struct dl_phdr_info *object, size_t size, void *unused) {
  (void)size, (void)unused;
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  for (size_t index = 0; index < object->dlpi_phnum; index++) {
    const ElfW(Phdr) *segment = &object->dlpi_phdr[index];
    if (segment->p_type != PT_LOAD || (segment->p_flags & PF_W) != 0) continue;
    uintptr_t start = (object->dlpi_addr + segment->p_vaddr) & ~(page - 1);
    uintptr_t end = object->dlpi_addr + segment->p_vaddr + segment->p_filesz;
    (void)madvise((void *)start, end - start, MADV_DONTNEED);
  }
  return 0;
}

void clinux_release_code(void) { (void)dl_iterate_phdr(release_segments, NULL); }

static int argument_count;
static char **arguments;

// glibc passes the arguments of main() to constructors.
__attribute__((constructor)) static void keep_arguments(int count, char **values) {
  argument_count = count;
  arguments = values;
}

int clinux_argument_count(void) { return argument_count; }

const char *clinux_argument(int index) {
  return index >= 0 && index < argument_count ? arguments[index] : NULL;
}

// Weak: a plain `swift build` links no such object.
extern const char postern_commit[] __attribute__((weak));

const char *clinux_commit(void) { return postern_commit; }
