package import Logging
import PosternJSON
import PosternSupport

/// swift-log's back end: one line an event to standard error, written with one `write`, so that lines never mix.
///
/// Metadata is rendered as text: whatever is secret is a `Secret<…>` and prints as `<secret>`.
package struct PosternLogHandler: LogHandler {
  /// The least severe level that is written.
  package var logLevel: Logger.Level
  /// Metadata of every line.
  package var metadata: Logger.Metadata = [:]
  private let label: String
  private let format: LogFormat
  private let write: @Sendable ([UInt8]) -> Void

  /// A handler; `write` gets whole lines and is standard error unless a test looks at them.
  package init(
    label: String, level: Logger.Level, format: LogFormat,
    write: @escaping @Sendable ([UInt8]) -> Void = { LogOutput.standardError.write($0) }
  ) {
    self.label = label
    logLevel = level
    self.format = format
    self.write = write
  }

  /// Metadata of every line.
  package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  /// Writes one line.
  package func log(event: LogEvent) {
    let fields = metadata.merging(event.metadata ?? [:]) { $1 }.sorted { $0.key < $1.key }
    let time = SystemClock().wallNow.rfc3339
    var line: [UInt8]
    switch format {
    case .json:
      var object: JSONObject = [
        "time": .string(time), "level": .string(event.level.rawValue), "logger": .string(label),
        "message": .string(event.message.description),
      ]
      for (key, value) in fields { object[key] = .string(value.description) }
      line = JSONWriter().write(.object(object))
    case .text:
      let pairs = fields.map { " \($0.key)=\(Self.quoted($0.value.description))" }.joined()
      let text = "\(time) \(event.level.rawValue) \(event.message)\(pairs)"
      // One event is one line, whatever a message holds.
      line = text.unicodeScalars.reduce(into: []) { bytes, scalar in
        let isControl = scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
        bytes.append(contentsOf: isControl ? Array(" ".utf8) : Array(scalar.utf8))
      }
    }
    line.append(UInt8(ascii: "\n"))
    write(line)
  }

  /// Quotes a value that would look like more than one field.
  private static func quoted(_ text: String) -> String {
    guard text.isEmpty || text.utf8.contains(where: { $0 <= 0x20 || $0 >= 0x7F || [0x22, 0x3D, 0x5C].contains($0) })
    else { return text }
    var quoted = "\"".unicodeScalars
    for scalar in text.unicodeScalars {
      if scalar == "\"" || scalar == "\\" { quoted.append("\\") }
      quoted.append(scalar)
    }
    quoted.append("\"")
    return String(quoted)
  }
}

/// How log lines look.
package enum LogFormat: String, Sendable, Hashable, CaseIterable {
  /// One JSON object a line, for machines.
  case json
  /// One readable line, for people.
  case text
}
