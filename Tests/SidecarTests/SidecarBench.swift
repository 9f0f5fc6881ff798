import AuthEngine
import HTTPMessages
import Logging
import PosternConfiguration
import PosternJSON
import PosternJSONRPC
import PosternObservability
import PosternProtocol
import PosternSupport
import PosternTestSupport
import Sidecar

/// A sidecar without socket and network: texts in, answers out.
final class SidecarBench: Sendable {
  let service: SidecarService
  let clock = ManualClock()
  let transport: ScriptedTransport
  let lines = Locked<[String]>([])
  private let configuration: Locked<String>
  private let nextConnection = Locked<UInt64>(1)

  /// A sidecar on the given YAML, whose upstream answers by `script`.
  init(
    _ yaml: String, level: Logger.Level = .trace, store: any RecordStore = MemoryRecordStore(),
    script: @escaping ScriptedTransport.Script = { _, _ async throws(TransportError) in HTTPResponse(status: 200) },
    hardening: (@Sendable () -> HardeningReport)? = nil,
    changing change: (inout SidecarService.Dependencies) -> Void = { _ in }
  ) throws {
    let source = Locked(yaml)
    configuration = source
    transport = ScriptedTransport(script)
    let lines = lines
    let load: @Sendable () throws(ConfigurationProblems) -> ConfigurationLoader.Loaded = {
      () throws(ConfigurationProblems) in
      let text = source.withLock { $0 }
      return try ConfigurationLoader(
        methodNames: Product.methodNames, readFile: { _, _ in .success(ConfigurationFile(bytes: Array(text.utf8))) }
      )
      .load(path: "postern.yaml", environment: [:])
    }
    let logger = Logger(label: "test") { label in
      PosternLogHandler(label: label, level: level, format: .json) { line in
        lines.withLock { $0.append(String(decoding: line, as: UTF8.self)) }
      }
    }
    var surroundings = SidecarService.Dependencies(
      transport: transport, clock: clock, logger: logger,
      libraries: GetInfo.Libraries(curl: "8", openssl: "3", jansson: "2", swift: "6"),
      storage: SessionStorage(store), loadConfiguration: load)
    surroundings.process.hardening = hardening
    change(&surroundings)
    service = try SidecarService(try load().configuration, surroundings)
  }

  /// Replaces the configuration that the next reload reads.
  func write(_ yaml: String) { configuration.withLock { $0 = yaml } }

  /// A new connection of the given peer; nil: the test's own user.
  func connect(
    uid: UInt32? = nil, gid: UInt32 = 0, groups: [UInt32] = [], through narrowing: Narrowing? = nil
  ) -> BenchConnection {
    let number = nextConnection.withLock { number in
      defer { number += 1 }
      return number
    }
    return BenchConnection(self, number, Peer(uid: uid ?? Self.ownUID, gid: gid, groups: groups), narrowing)
  }
}
