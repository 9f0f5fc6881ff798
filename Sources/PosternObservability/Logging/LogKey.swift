package import Logging

/// The keys of log lines: there are no others, and each means the same in every line. The documents list them with
/// their meaning (observability.md).
package enum LogKey: String, CaseIterable, Sendable {
  case added, attempt, bytesIn, bytesOut, cacheHit, cause, changed, claim, configuration, connection, connections,
    count, endpoint, error, expectedBytes, file, foundBytes, host, httpMethod, issuer, kind, method, missing, ms,
    notLogged, origin, outcome, path, pid, port, provider, reason, record, removed, resource, scope, seconds, session,
    socket, source,
    status, stuck, traceId, uid, version, what
}

extension Logger.Metadata {
  /// The metadata of a line.
  package static func of(_ fields: KeyValuePairs<LogKey, Logger.MetadataValue>) -> Logger.Metadata {
    Dictionary(fields.map { ($0.key.rawValue, $0.value) }) { $1 }
  }

  /// The value of a key.
  package subscript(key: LogKey) -> Logger.MetadataValue? {
    get { self[key.rawValue] }
    set { self[key.rawValue] = newValue }
  }
}
