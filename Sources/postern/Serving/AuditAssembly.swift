import Glibc
import Logging
import PosternConfiguration
import PosternJSON
import PosternObservability
import PosternSupport
import Sidecar

/// Opens the audit log of the configuration.
enum AuditAssembly {
  /// Opens it; nil without one. `logger` logs its events. A failure is no error of the configuration: the disk may be
  /// full, or another process may still write to it.
  static func open(_ configuration: AuditConfiguration?, _ logger: Logger) throws(ServerProcess.Failure) -> AuditLog? {
    guard let configuration else { return nil }
    let settings = AuditLog.Settings(
      path: configuration.path, key: configuration.key?.value, maxBytes: configuration.maxBytes,
      failClosed: configuration.failClosed)
    do throws(AuditError) {
      return try AuditLog(
        settings, clock: SystemClock(),
        facts: [
          "version": .string(Product.version), "pid": .integer(Int64(getpid())), "uid": .integer(Int64(getuid())),
        ]
      ) { log($0, logger) }
    } catch {
      throw ServerProcess.Failure(description: "audit.path: is not usable: \(error.description)")
    }
  }

  private static func log(_ event: AuditEvent, _ logger: Logger) {
    switch event {
    case .opened(let path, let last):
      var metadata = Logger.Metadata.of([.file: .string(path)])
      metadata[.record] = last.map { .stringConvertible($0) }
      logger.info("audit log opened", metadata: metadata)
    case .rotated(let name, let last):
      logger.info("audit log rotated", metadata: .of([.file: .string(name), .record: .stringConvertible(last)]))
    case .setAside(let name, let reason):
      logger.error(
        "audit log set aside, a new chain begins", metadata: .of([.file: .string(name), .reason: .string(reason)]))
    case .fragmentFound(let kept, let byteCount):
      logger.warning(
        "audit log ended within a record",
        metadata: .of([.file: .string(kept), .foundBytes: .stringConvertible(byteCount)]))
    case .disturbed(let expected, let found):
      logger.error(
        "audit log was written to by another program",
        metadata: .of([.expectedBytes: .stringConvertible(expected), .foundBytes: .stringConvertible(found)]))
    case .failing(let reason): logger.error("audit log cannot be written", metadata: .of([.error: .string(reason)]))
    case .recovered(let missing):
      logger.warning("audit log can be written again", metadata: .of([.missing: .stringConvertible(missing)]))
    case .reached(let last): logger.info("audit log written", metadata: .of([.record: .stringConvertible(last)]))
    case .closed(let last): logger.info("audit log closed", metadata: .of([.record: .stringConvertible(last)]))
    }
  }
}
