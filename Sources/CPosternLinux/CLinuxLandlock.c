#define _GNU_SOURCE
#include "CLinuxLandlock.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

// The same on every architecture; missing from headers before Linux 5.13.
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

enum { VERSION = 1 << 0, PATH_BENEATH = 1, NET_PORT = 2 };

// struct landlock_ruleset_attr of ABI 6. Older kernels accept it as long as the members they do not know are zero.
struct ruleset {
  uint64_t fs, net, scope;
};
struct path_beneath {
  uint64_t access;
  int32_t parent;
} __attribute__((packed));
struct net_port {
  uint64_t access, port;
};

int clinux_landlock_abi(void) {
  long version = syscall(SYS_landlock_create_ruleset, NULL, 0, VERSION);
  return version < 0 ? -errno : (int)version;
}

int clinux_landlock_rules(uint64_t fs, uint64_t net, uint64_t scope) {
  struct ruleset ruleset = {fs, net, scope};
  long rules = syscall(SYS_landlock_create_ruleset, &ruleset, sizeof ruleset, 0);
  return rules < 0 ? -errno : (int)rules;
}

int clinux_landlock_open(const char *path) {
  int parent = open(path, O_PATH | O_CLOEXEC);
  return parent < 0 ? -errno : parent;
}

int clinux_landlock_allow_path(int rules, int parent, uint64_t access) {
  struct path_beneath rule = {access, parent};
  return syscall(SYS_landlock_add_rule, rules, PATH_BENEATH, &rule, 0) != 0 ? errno : 0;
}

int clinux_landlock_allow_port(int rules, uint16_t port, uint64_t access) {
  struct net_port rule = {access, port};
  return syscall(SYS_landlock_add_rule, rules, NET_PORT, &rule, 0) != 0 ? errno : 0;
}

int clinux_landlock_enforce(int rules) { return syscall(SYS_landlock_restrict_self, rules, 0) != 0 ? errno : 0; }
