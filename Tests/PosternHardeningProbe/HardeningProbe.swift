import CPosternLinux
import Glibc
import PosternRuntime

/// A program that enters a sandbox and tries one operation there.
///
///     HardeningProbe [--read PATH] [--open PATH] [--write PATH] [--socket PATH] [--connect PORT] [--bind PORT]
///       [--any-port] [--abi N] [--no-landlock] [--no-filter] [--serving] [--no-descriptors] ACT [ARGUMENT…]
///
/// Prints `ok` or the number of the error. `effect` prints the protections in force; lines that begin with `fault` are
/// about those that are not. `environment` clears the environment instead, and prints the warnings and the variables
/// left. `--serving` also forbids system calls that are needed only while starting; with `--no-descriptors` no further
/// descriptor can be opened.
@main
struct HardeningProbe {
  static func main() {
    var arguments = Array(CommandLine.arguments.dropFirst())
    var policy = SandboxPolicy()
    var usesLandlock = true
    var (serves, opensNothing) = (false, false)
    var options = Sandbox.Options(policy: nil, filtersSystemCalls: true)
    while let option = arguments.first, option.hasPrefix("--") {
      arguments.removeFirst()
      switch option {
      case "--no-landlock": usesLandlock = false
      case "--no-filter": options.filtersSystemCalls = false
      case "--serving": serves = true
      case "--no-descriptors": opensNothing = true
      case "--any-port": policy.connectPorts = nil
      default:
        let value = arguments.removeFirst()
        switch option {
        case "--read": policy.readable.insert(value)
        case "--open": policy.openable.insert(value)
        case "--write": policy.writable.insert(value)
        case "--socket": policy.socketDirectories.insert(value)
        case "--connect": policy.connectPorts?.insert(UInt16(value) ?? 0)
        case "--bind": policy.bindPorts.insert(UInt16(value) ?? 0)
        case "--abi": options.newestABI = Int(value) ?? 0
        default: exit(2)
        }
      }
    }
    options.policy = usesLandlock ? policy : nil
    let act = arguments.removeFirst()
    if act == "environment" { return clearEnvironment() }
    // A thread that is started before the sandbox is not under Landlock.
    if act == "thread-first" { startThread { sleep(5) } }
    let sandbox = Sandbox(options)
    for fault in [sandbox.landlockFault, sandbox.filterFault] {
      if let fault { print("fault", fault.isUnavailable ? "unavailable:" : "failed:", fault.message) }
    }
    if serves {
      do throws(ProtectionFault) { try sandbox.endStart() } catch { print("fault", error.message) }
    }
    if opensNothing {
      var none = rlimit(rlim_cur: 0, rlim_max: 0)
      setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &none)
    }
    if act == "effect" || act == "thread-first" {
      print(sandbox.effect)
    } else {
      print(Acts.perform(act, arguments))
    }
    withExtendedLifetime(sandbox) {}
  }

  static func clearEnvironment() {
    for finding in LibraryEnvironment.clear() { print(finding.message) }
    var entry = environ
    while let text = entry.pointee {
      print("left", String(cString: text))
      entry = entry.successor()
    }
  }

  static func startThread(_ body: @escaping @convention(c) () -> Void) {
    var thread = pthread_t()
    let box = UnsafeMutableRawPointer.allocate(byteCount: 8, alignment: 8)
    box.storeBytes(of: body, as: (@convention(c) () -> Void).self)
    pthread_create(
      &thread, nil,
      { pointer in
        pointer?.load(as: (@convention(c) () -> Void).self)()
        return nil
      }, box)
  }
}
