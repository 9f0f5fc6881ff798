import Glibc
import Testing

@Suite("After the start: system calls that are needed only while starting, or never")
struct ServingCallTests {
  typealias Call = SystemCallTests.Call

  private static let parent = Int(getpid())
  /// Calls that only x86-64 has: other architectures use another call.
  private static let onlyX86: [Call] = {
    #if arch(x86_64)
      [
        Call(name: "chmod", x86: 90, arm: 0), Call(name: "chown", x86: 92, arm: 0),
        Call(name: "lchown", x86: 94, arm: 0),
        Call(name: "utime", x86: 132, arm: 0), Call(name: "utimes", x86: 235, arm: 0),
        Call(name: "futimesat", x86: 261, arm: 0), Call(name: "symlink", x86: 88, arm: 0),
        Call(name: "mknod", x86: 133, arm: 0), Call(name: "inotify_init", x86: 253, arm: 0),
      ]
    #else
      []
    #endif
  }()

  static let files = [
    Call(name: "fchmod, for others", x86: 91, arm: 52, arguments: [-1, 0o644]),
    Call(name: "fchmodat", x86: 268, arm: 53), Call(name: "fchmodat2", x86: 452, arm: 452),
    Call(name: "fchown", x86: 93, arm: 55, arguments: [-1]), Call(name: "fchownat", x86: 260, arm: 54),
    Call(name: "utimensat", x86: 280, arm: 88, arguments: [-1]), Call(name: "setxattr", x86: 188, arm: 5),
    Call(name: "lsetxattr", x86: 189, arm: 6), Call(name: "fsetxattr", x86: 190, arm: 7),
    Call(name: "getxattr", x86: 191, arm: 8), Call(name: "lgetxattr", x86: 192, arm: 9),
    Call(name: "fgetxattr", x86: 193, arm: 10), Call(name: "listxattr", x86: 194, arm: 11),
    Call(name: "llistxattr", x86: 195, arm: 12), Call(name: "flistxattr", x86: 196, arm: 13, arguments: [-1]),
    Call(name: "removexattr", x86: 197, arm: 14), Call(name: "lremovexattr", x86: 198, arm: 15),
    Call(name: "fremovexattr", x86: 199, arm: 16), Call(name: "setxattrat", x86: 463, arm: 463),
    Call(name: "getxattrat", x86: 464, arm: 464), Call(name: "listxattrat", x86: 465, arm: 465),
    Call(name: "removexattrat", x86: 466, arm: 466), Call(name: "file_getattr", x86: 468, arm: 468),
    Call(name: "file_setattr", x86: 469, arm: 469), Call(name: "truncate", x86: 76, arm: 45),
    Call(name: "chdir", x86: 80, arm: 49), Call(name: "fchdir", x86: 81, arm: 50, arguments: [-1]),
    Call(name: "inotify_init1", x86: 294, arm: 26), Call(name: "inotify_add_watch", x86: 254, arm: 27, arguments: [-1]),
    Call(name: "fanotify_mark", x86: 301, arm: 263, arguments: [-1]), Call(name: "symlinkat", x86: 266, arm: 36),
    Call(name: "mknodat", x86: 259, arm: 33), Call(name: "statmount", x86: 457, arm: 457),
    Call(name: "listmount", x86: 458, arm: 458),
    Call(name: "ioctl FS_IOC_SETFLAGS", x86: 16, arm: 29, arguments: [0, 0x4008_6602]),
    Call(name: "ioctl FS_IOC_FSSETXATTR", x86: 16, arm: 29, arguments: [0, 0x401c_5820]),
    Call(name: "ioctl FICLONE", x86: 16, arm: 29, arguments: [0, 0x4004_9409]),
    Call(name: "fcntl F_NOTIFY", x86: 72, arm: 25, arguments: [-1, 1026]),
    Call(name: "fcntl F_SETLEASE", x86: 72, arm: 25, arguments: [-1, 1024]),
  ]

  static let memory = [
    Call(name: "mmap PROT_EXEC", x86: 9, arm: 222, arguments: [0, 4096, 5, 0x22, -1, 0]),
    Call(name: "mprotect PROT_EXEC", x86: 10, arm: 226, arguments: [0, 0, 4]),
    Call(name: "pkey_mprotect PROT_EXEC", x86: 329, arm: 288, arguments: [0, 0, 4, -1]),
    Call(name: "memfd_create", x86: 319, arm: 279), Call(name: "memfd_secret", x86: 447, arm: 447, arguments: [-1]),
    Call(name: "shmget", x86: 29, arm: 194), Call(name: "shmat", x86: 30, arm: 196, arguments: [-1]),
    Call(name: "shmctl", x86: 31, arm: 195, arguments: [-1]), Call(name: "semget", x86: 64, arm: 190),
    Call(name: "semop", x86: 65, arm: 193, arguments: [-1]), Call(name: "semctl", x86: 66, arm: 191, arguments: [-1]),
    Call(name: "semtimedop", x86: 220, arm: 192, arguments: [-1]),
    Call(name: "msgget, of none", x86: 68, arm: 186, arguments: [0x7fff_fffe]),
    Call(name: "msgsnd", x86: 69, arm: 189, arguments: [-1]), Call(name: "msgrcv", x86: 70, arm: 188, arguments: [-1]),
    Call(name: "msgctl", x86: 71, arm: 187, arguments: [-1]), Call(name: "mq_open", x86: 240, arm: 180),
    Call(name: "mq_unlink", x86: 241, arm: 181), Call(name: "io_setup", x86: 206, arm: 0),
  ]

  static let processes = [
    Call(name: "kill, of the parent", x86: 62, arm: 129, arguments: [parent, 0]),
    Call(name: "kill, of everybody", x86: 62, arm: 129, arguments: [-1, 0]),
    Call(name: "tkill, of the parent", x86: 200, arm: 130, arguments: [parent, 0]),
    Call(name: "tgkill, of the parent", x86: 234, arm: 131, arguments: [parent, parent, 0]),
    Call(name: "rt_sigqueueinfo", x86: 129, arm: 138, arguments: [parent]),
    Call(name: "rt_tgsigqueueinfo", x86: 297, arm: 240, arguments: [parent, parent]),
    Call(name: "pidfd_send_signal", x86: 424, arm: 424, arguments: [-1]),
    Call(name: "process_mrelease", x86: 448, arm: 448, arguments: [-1]),
    Call(name: "prlimit64, of the parent", x86: 302, arm: 261, arguments: [parent, 4]),
    Call(name: "prlimit64, a new limit", x86: 302, arm: 261, arguments: [0, 4, 1]),
    Call(name: "prlimit64, a new limit far up", x86: 302, arm: 261, arguments: [0, 4, 1 << 32]),
    Call(name: "setrlimit", x86: 160, arm: 164), Call(name: "setpgid", x86: 109, arm: 154, arguments: [0, -1]),
    Call(name: "setpriority, of another process", x86: 141, arm: 140, arguments: [0, 0x7fff_fffe, 0]),
    Call(name: "setpriority, of a user", x86: 141, arm: 140, arguments: [2, 0x7fff_fffe, 0]),
    Call(name: "ioprio_set", x86: 251, arm: 30, arguments: [9]),
    Call(name: "sched_setaffinity, of the parent", x86: 203, arm: 122, arguments: [parent]),
    Call(name: "sched_setscheduler, of the parent", x86: 144, arm: 119, arguments: [parent]),
    Call(name: "sched_setparam, of the parent", x86: 142, arm: 118, arguments: [parent]),
    Call(name: "sched_setattr, of the parent", x86: 314, arm: 274, arguments: [parent]),
    Call(name: "fcntl F_SETOWN", x86: 72, arm: 25, arguments: [0, 8, parent]),
    Call(name: "fcntl F_SETOWN_EX", x86: 72, arm: 25, arguments: [0, 15]),
    Call(name: "fcntl F_SETSIG", x86: 72, arm: 25, arguments: [0, 10]),
    Call(name: "ioctl FIOSETOWN", x86: 16, arm: 29, arguments: [0, 0x8901]),
    Call(name: "ioctl SIOCSPGRP", x86: 16, arm: 29, arguments: [0, 0x8902]),
  ]

  @Test("a system call that only a start needs gets through", arguments: files + onlyX86 + memory + processes)
  func forbidden(call: Call) throws {
    let arguments = ["call", "\(call.number)"] + call.arguments.map(String.init)
    #expect(try Probe(["--no-landlock", "--serving"] + arguments).result == Probe.code(EPERM))
    #expect(try Probe(["--no-landlock"] + arguments).result != Probe.code(EPERM), "the test would see nothing")
  }

  @Test(
    "what a sidecar does to itself is forbidden",
    arguments: [
      Call(name: "setpriority, of the thread", x86: 141, arm: 140, arguments: [0, 0, 0]),
      Call(name: "prlimit64, reading", x86: 302, arm: 261, arguments: [0, 4, 0, 0]),
      Call(name: "mprotect, no code", x86: 10, arm: 226, arguments: [0, 0, 3]),
      // Endpoints end with a process; nothing can be done to it by the descriptor.
      Call(name: "pidfd_open, of the parent", x86: 434, arm: 434, arguments: [parent]),
    ])
  func allowed(call: Call) throws {
    let arguments = ["call", "\(call.number)"] + call.arguments.map(String.init)
    #expect(try Probe(["--no-landlock", "--serving"] + arguments).result == "ok")
  }
}
