import Glibc
import Testing

@Suite("The filter of system calls: calls that a sidecar never needs fail with EPERM")
struct SystemCallTests {
  struct Call: CustomTestStringConvertible, Sendable {
    let name: String
    let x86: Int
    let arm: Int
    var arguments: [Int] = []
    /// The error with the filter; without it the result differs, so that the test detects a missing filter.
    var code = EPERM

    var number: Int {
      #if arch(x86_64)
        x86
      #else
        arm
      #endif
    }
    var testDescription: String { name }
  }

  static let calls = [
    Call(name: "execve", x86: 59, arm: 221), Call(name: "execveat", x86: 322, arm: 281),
    Call(name: "ptrace, of the parent", x86: 101, arm: 117, arguments: [0x4206, Int(getpid())]),
    Call(name: "process_vm_readv", x86: 310, arm: 270), Call(name: "process_vm_writev", x86: 311, arm: 271),
    Call(name: "kcmp", x86: 312, arm: 272), Call(name: "pidfd_getfd", x86: 438, arm: 438),
    Call(name: "setuid", x86: 105, arm: 146), Call(name: "setgid", x86: 106, arm: 144),
    Call(name: "setresuid", x86: 117, arm: 147), Call(name: "setgroups", x86: 116, arm: 159),
    Call(name: "capset", x86: 126, arm: 91), Call(name: "mount", x86: 165, arm: 40),
    Call(name: "umount2", x86: 166, arm: 39), Call(name: "move_mount", x86: 429, arm: 429),
    Call(name: "fsopen", x86: 430, arm: 430), Call(name: "mount_setattr", x86: 442, arm: 442),
    Call(name: "pivot_root", x86: 155, arm: 41), Call(name: "chroot", x86: 161, arm: 51),
    Call(name: "unshare, of nothing", x86: 272, arm: 97), Call(name: "setns", x86: 308, arm: 268),
    Call(name: "open_by_handle_at", x86: 304, arm: 265), Call(name: "name_to_handle_at", x86: 303, arm: 264),
    Call(name: "acct", x86: 163, arm: 89), Call(name: "quotactl", x86: 179, arm: 60),
    Call(name: "swapon", x86: 167, arm: 224), Call(name: "reboot", x86: 169, arm: 142),
    Call(name: "kexec_load", x86: 246, arm: 104), Call(name: "init_module", x86: 175, arm: 105),
    Call(name: "finit_module", x86: 313, arm: 273), Call(name: "delete_module", x86: 176, arm: 106),
    Call(name: "bpf", x86: 321, arm: 280), Call(name: "perf_event_open", x86: 298, arm: 241),
    Call(name: "userfaultfd", x86: 323, arm: 282),
    Call(name: "personality", x86: 135, arm: 92, arguments: [0xffff_ffff]),
    Call(name: "io_uring_setup", x86: 425, arm: 425), Call(name: "io_uring_enter", x86: 426, arm: 426),
    Call(name: "add_key", x86: 248, arm: 217), Call(name: "request_key", x86: 249, arm: 218),
    Call(name: "keyctl", x86: 250, arm: 219), Call(name: "clock_settime", x86: 227, arm: 112),
    Call(name: "clone, a process", x86: 56, arm: 220, arguments: [17]),
    Call(name: "clone, a user namespace", x86: 56, arm: 220, arguments: [0x1000_0000 | 17]),
    Call(name: "clone, a thread in a mount namespace", x86: 56, arm: 220, arguments: [0x0001_0000 | 0x0002_0000]),
    Call(name: "clone3", x86: 435, arm: 435, code: ENOSYS),
    Call(name: "ioctl TIOCSTI", x86: 16, arm: 29, arguments: [0, 0x5412]),
    Call(name: "ioctl TIOCSTI, in a number of more bits", x86: 16, arm: 29, arguments: [0, 0x1_0000_5412]),
    Call(name: "sendto MSG_FASTOPEN", x86: 44, arm: 206, arguments: [-1, 0, 0, 0x2000_0000]),
    Call(name: "sendmsg MSG_FASTOPEN", x86: 46, arm: 211, arguments: [-1, 0, 0x2000_0000]),
    Call(name: "sendmmsg MSG_FASTOPEN", x86: 307, arm: 269, arguments: [-1, 0, 0, 0x2000_0000]),
    Call(name: "x32 getpid", x86: 0x4000_0027, arm: 0x4000_0027, code: ENOSYS),
  ]

  @Test("a forbidden system call gets through", arguments: calls)
  func forbidden(call: Call) throws {
    let arguments = ["call", "\(call.number)"] + call.arguments.map(String.init)
    #expect(try Probe(["--no-landlock"] + arguments).result == Probe.code(call.code))
  }

  @Test("a program can be started")
  func programs() throws {
    #expect(try Probe("--no-landlock", "--no-filter", "execute", "/bin/true").result == "ok")
    #expect(try Probe("--no-landlock", "execute", "/bin/true").result == Probe.code(EPERM))
  }

  @Test("a socket past the rules for ports can be made, or one that is needed cannot")
  func sockets() throws {
    let (stream, datagram, raw) = (CInt(1), CInt(2), CInt(3))
    let cloexec = CInt(0o2000000)
    func made(_ family: CInt, _ type: CInt, _ number: CInt = 0) throws -> String {
      try Probe("--no-landlock", "socket", "\(family)", "\(type)", "\(number)").result
    }
    for (family, type, number) in [
      (AF_UNIX, stream, 0), (AF_UNIX, datagram, 0), (AF_INET, stream | cloexec, 0), (AF_INET, stream, 6),
      (AF_INET6, stream, 0), (AF_INET6, stream, 6), (AF_INET, datagram, 0), (AF_INET, datagram, 17),
      (AF_NETLINK, raw | cloexec, 0),
    ] as [(CInt, CInt, CInt)] {
      #expect(try made(family, type, number) == "ok", "\(family) \(type) \(number)")
    }
    for (family, type, number) in [
      (AF_INET, raw, 1), (AF_INET, raw | cloexec, 255), (AF_INET6, raw, 58), (AF_INET, stream, 262),
      (AF_INET, stream, 132), (AF_INET, datagram, 1), (AF_NETLINK, raw, 2), (AF_NETLINK, raw, 12),
    ] as [(CInt, CInt, CInt)] {
      #expect(try made(family, type, number) == Probe.code(EPERM), "\(family) \(type) \(number)")
    }
    // Packets, virtual machines, Bluetooth, the kernel's cryptography.
    for family in [17, 40, 31, 38] as [CInt] {
      #expect(try made(family, datagram) == Probe.code(EAFNOSUPPORT), "\(family)")
    }
  }

  @Test("memory that was written becomes code, or a process that cannot be dumped can be again")
  func memory() throws {
    #expect(try Probe("--no-landlock", "writable-code").result == Probe.code(EACCES))
    #expect(try Probe("--no-landlock", "dumpable").result == Probe.code(EPERM))
  }

  @Test("a thread cannot be started")
  func threads() throws { #expect(try Probe("--no-landlock", "thread").result == "ok") }
}
