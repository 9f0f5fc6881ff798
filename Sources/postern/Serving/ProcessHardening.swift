import Glibc
import PosternConfiguration
import PosternObservability
import PosternRuntime
import PosternSupport
import Sidecar

/// The sidecar's protections: configured, set up, and in force.
final class ProcessHardening: Sendable {
  private let wishes: HardeningConfiguration
  private let sandbox: Sandbox
  /// Where connections can be made to; nil for everywhere.
  private let allowedPorts: Set<UInt16>?
  /// Where files can still be read; nil for everywhere.
  private let readable: Set<String>?
  private let start = Locked(Start.underWay)

  /// Whether the process has given up what only its start needed.
  private enum Start {
    case underWay
    case ended
    case endedWithout(ProtectionFault)
  }

  /// Sets up what `wishes` ask for; to be called while the process has one thread. Throws when something that is
  /// required cannot be had.
  init(_ wishes: HardeningConfiguration, _ plan: SandboxPlan) throws(ServerProcess.Failure) {
    self.wishes = wishes
    if wishes.lockedMemory == .off { SecretMemory.stopLocking() }
    let policy = wishes.landlock == .off ? nil : plan.policy
    if policy != nil, let directory = plan.storeDirectory { Self.makeDirectory(directory) }
    sandbox = Sandbox(Sandbox.Options(policy: policy, filtersSystemCalls: wishes.seccomp != .off))
    let isInForce = policy != nil && sandbox.landlockFault == nil
    allowedPorts = plan.policy.connectPorts
    readable = isInForce ? Set((policy?.readable ?? []).compactMap(FileLocations.resolved)) : nil
    try demand(wishes.landlock, "landlock", sandbox.landlockFault?.message)
    try demand(wishes.seccomp, "seccomp", sandbox.filterFault?.message)
    try demand(wishes.lockedMemory, "lockedMemory", SecretMemory.usage.unlockedBytes > 0 ? Self.tooLittle : nil)
  }

  /// Gives up what only a start needs; to be called once the socket listens. Throws when that is required and cannot be
  /// had. Returns what is missing since then.
  func endStart() throws(ServerProcess.Failure) -> [String] {
    guard wishes.seccomp != .off, sandbox.filterFault == nil else { return [] }
    let before = report.missing
    do throws(ProtectionFault) {
      try sandbox.endStart()
      start.withLock { $0 = .ended }
    } catch {
      start.withLock { $0 = .endedWithout(error) }
      try demand(wishes.seccomp, "seccomp", error.message)
    }
    return report.missing.filter { !before.contains($0) }
  }

  /// The protections in force now.
  var report: HardeningReport {
    let effect = sandbox.effect
    let memory = SecretMemory.usage
    var report = HardeningReport()
    report.noNewPrivileges = effect.noNewPrivileges
    report.isDumpable = effect.isDumpable
    report.leavesCoreDumps = effect.leavesCoreDumps
    report.allowsWritableCode = !effect.forbidsWritableCode
    report.landlock.abi = effect.landlockABI
    report.landlock.limitsFiles = effect.limitsFiles
    report.landlock.limitsPorts = effect.limitsPorts
    report.landlock.connectPorts = effect.limitsPorts ? allowedPorts : nil
    report.landlock.isScoped = effect.isScoped
    report.filtersSystemCalls = effect.filtersSystemCalls && (isStarting || effect.filtersStartCalls)
    report.lockedBytes = memory.lockedBytes
    report.unlockedBytes = memory.unlockedBytes
    note(effect, memory, in: &report)
    return report
  }

  /// Reads the configuration again; files outside of the sandbox are problems with that reason.
  func reload(
    _ path: String, _ environment: [String: String]
  ) throws(ConfigurationProblems) -> ConfigurationLoader.Loaded {
    guard readable != nil else {
      return try ConfigurationLoader(methodNames: Product.methodNames).load(path: path, environment: environment)
    }
    let loader = ConfigurationLoader(methodNames: Product.methodNames) { [self] path, failure in
      failure == .permissionDenied && !reaches(path) ? .outsideSandbox : failure
    }
    let loaded = try loader.load(path: path, environment: environment)
    var problems = portProblems(loaded, path)
    for file in SandboxPlan.deviceFiles(of: loaded.configuration) where access(file, F_OK) != 0 || !reaches(file) {
      let message =
        "\(file): the running process can neither create it nor read outside of its sandbox: restart it (hardening.landlock)"
      problems.append(ConfigurationProblem(file: path, keyPath: "preauthorization", message: message))
    }
    for (name, issuer) in loaded.configuration.issuers {
      // One that is not there yet is read from its directory.
      for file in issuer.assertionFiles
      where !reaches(FileLocations.resolved(file) == nil ? FileLocations.directory(of: file) : file) {
        let message =
          "\(file): the running process cannot read outside of its sandbox: restart it (hardening.landlock)"
        problems.append(ConfigurationProblem(file: path, keyPath: "issuers.\(name)", message: message))
      }
    }
    guard problems.isEmpty else { throw ConfigurationProblems(problems, warnings: loaded.warnings) }
    return loaded
  }

  private func portProblems(_ loaded: ConfigurationLoader.Loaded, _ path: String) -> [ConfigurationProblem] {
    guard let allowedPorts, sandbox.effect.limitsPorts else { return [] }
    return loaded.reach.ports.sorted { $0.key < $1.key }.filter { !allowedPorts.contains($0.key) }.map { port, key in
      ConfigurationProblem(
        file: path, keyPath: key,
        message:
          "the sandbox of the running process does not allow connections to port \(port): restart it (hardening.landlock, hardening.connectPorts)"
      )
    }
  }

  /// Whether Landlock lets `path` be read.
  private func reaches(_ path: String) -> Bool {
    guard let readable else { return true }
    guard let real = FileLocations.resolved(path) else { return true }
    return readable.contains { real == $0 || real.hasPrefix($0.hasSuffix("/") ? $0 : "\($0)/") }
  }

  private var isStarting: Bool {
    start.withLock { if case .underWay = $0 { true } else { false } }
  }

  private func note(_ effect: ProtectionEffect, _ memory: SecretMemory.Usage, in report: inout HardeningReport) {
    func note(_ message: String, isFault: Bool) {
      report.missing.append(message)
      if isFault { report.faults.append(message) }
    }
    if !effect.noNewPrivileges { note("no_new_privs cannot be set", isFault: true) }
    if wishes.coreDumps {
      note("hardening.coreDumps is on", isFault: false)
    } else if effect.isDumpable {
      note("core dumps and debuggers of the same user are not forbidden", isFault: true)
    }
    if !effect.forbidsWritableCode {
      note("this kernel cannot forbid memory that is written and then executed (Linux 6.3)", isFault: false)
    }
    switch (wishes.landlock, sandbox.landlockFault) {
    case (.off, _): note("hardening.landlock is off", isFault: false)
    case (_, let fault?): note("landlock: \(fault.message)", isFault: !fault.isUnavailable)
    case (_, nil):
      if !effect.limitsFiles { note("landlock does not limit files", isFault: true) }
      if allowedPorts == nil {
        note("landlock does not limit ports: development.plainHTTPOnLoopback is on", isFault: false)
      } else if !effect.limitsPorts {
        note("landlock does not limit ports (ABI 4, Linux 6.7)", isFault: effect.landlockABI >= 4)
      }
      if !effect.isScoped {
        note("landlock has no scope for signals and abstract sockets (ABI 6, Linux 6.12)", isFault: false)
      }
    }
    switch (wishes.seccomp, sandbox.filterFault) {
    case (.off, _): note("hardening.seccomp is off", isFault: false)
    case (_, let fault?): note("seccomp: \(fault.message)", isFault: !fault.isUnavailable)
    case (_, nil):
      if !effect.filtersSystemCalls { note("seccomp does not filter system calls", isFault: true) }
      switch start.withLock({ $0 }) {
      case .underWay: break
      case .endedWithout(let fault):
        note("seccomp, for what only a start needs: \(fault.message)", isFault: !fault.isUnavailable)
      case .ended:
        if !effect.filtersStartCalls {
          note("seccomp does not filter system calls that only a start needs", isFault: true)
        }
      }
    }
    if wishes.lockedMemory == .off {
      note("hardening.lockedMemory is off", isFault: false)
    } else if memory.unlockedBytes > 0 {
      note("lockedMemory: \(Self.tooLittle)", isFault: wishes.lockedMemory == .required)
    }
  }

  private func demand(
    _ wish: HardeningConfiguration.Protection, _ name: String, _ fault: String?
  ) throws(ServerProcess.Failure) {
    guard wish == .required, let fault else { return }
    throw ServerProcess.Failure(description: "hardening.\(name) is required, and cannot be had: \(fault)")
  }

  private static let tooLittle = "RLIMIT_MEMLOCK is too small for all secrets"

  /// A rule is for what is there: the store's directory is made now, as the store would.
  private static func makeDirectory(_ path: String) {
    guard mkdir(path, 0o700) == 0 else { return }
    let parent = open("\(path)/..", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard parent >= 0 else { return }
    // Known to be there after a loss of power only if its name is.
    fsync(parent)
    close(parent)
  }
}
