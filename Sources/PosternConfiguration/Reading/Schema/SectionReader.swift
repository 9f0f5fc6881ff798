import PosternJSON
import PosternSupport

/// Reads the keys of one section, or records each key that would be read: that is the section's description.
///
/// Without a section to read (it is left out, or the schema is being described) every key yields its default, or a
/// placeholder where it has none, and nothing is a problem.
package final class SectionReader {
  /// The state that all sections share.
  package let context: ReadingContext
  /// Where this section is.
  package let path: ConfigurationPath
  /// Whether there is a section to read.
  package var isPresent: Bool { entries != nil }

  private let entries: [SourceEntry]?
  /// The names of the keys that were read, each with the one that it had earlier.
  private var names: [(current: String, former: String?)] = []
  private var specifications: [KeySpecification] = []

  /// A reader of `node`, or of nothing. A node that is no section is a problem.
  package init(_ node: SourceNode?, at path: ConfigurationPath, in context: ReadingContext) {
    self.context = context
    self.path = path
    guard let node else {
      entries = nil
      return
    }
    context.record(path, at: node.origin)
    switch node.content {
    case .mapping(let entries):
      self.entries = entries
    case .scalar(let scalar) where scalar.isNull:
      // `name:` with nothing behind it is a section that was begun.
      entries = []
    default:
      context.problem("must be a section of keys, not \(node.kind)", at: path)
      entries = nil
    }
  }

  /// A reader of nothing.
  package convenience init(describing context: ReadingContext) { self.init(nil, at: ConfigurationPath(), in: context) }

  /// The keys that were described.
  package var specification: SectionSpecification { SectionSpecification(keys: specifications) }

  /// Reports unknown keys. To be called once, when the section has been read.
  package func finish() {
    let unknown = (entries ?? []).filter { entry in !names.contains { $0.current == entry.key } }
    for (index, entry) in unknown.enumerated() {
      var message = "unknown key"
      if let key = names.first(where: { $0.former == entry.key }) {
        message = "is the former name of \(key.current), which is given, too: leave it out"
      } else if index < 100 {
        // A file of nothing but unknown keys is not worth a search for each of them.
        message = Suggestion.appended(to: message, for: entry.key, among: names.map(\.current))
      }
      context.problem(message, at: path.key(entry.key), origin: entry.keyOrigin)
    }
  }

  /// Whether `name` is given.
  package func isGiven(_ name: String) -> Bool { entry(name) != nil }

  /// Records an error in `name`, or with the section itself.
  package func problem(_ message: String, at name: String? = nil) {
    guard isPresent else { return }
    context.problem(message, at: name.map { path.key($0) } ?? path)
  }

  /// Records a warning about `name`, or about the section itself.
  package func warn(_ message: String, at name: String? = nil) {
    guard isPresent else { return }
    context.warn(message, at: name.map { path.key($0) } ?? path)
  }

  /// The entry of `name`.
  package func entry(_ name: String) -> SourceEntry? { entries?.first { $0.key == name } }

  /// The entry of `name`; records its position, for what is more than one value.
  func recordedEntry(_ name: String) -> SourceEntry? {
    guard let entry = entry(name) else { return nil }
    context.record(path.key(name), at: entry.value.origin)
    return entry
  }

  /// Notes that the section has a key of that name.
  package func note(_ name: String, formerly formerName: String? = nil) {
    if isPresent { names.append((name, formerName)) }
  }

  /// Notes a key, and describes it where that is wanted.
  package func describe(
    _ name: String, formerly formerName: String? = nil, _ specification: () -> KeySpecification
  ) {
    note(name, formerly: formerName)
    if context.isDescribing { specifications.append(specification()) }
  }
}

/// A part of the configuration that is a mapping of known keys.
///
/// Its initialiser is its only declaration: each call on the reader names one key with its type, default and
/// documentation. Reading a file and describing the schema run the same code, so that neither can drift from the other.
package protocol ConfigurationSection: Sendable, Equatable {
  /// Reads the section, or describes it when there is nothing to read.
  init(reading keys: SectionReader)
}

extension ConfigurationSection {
  /// The section as it is when nothing of it is given.
  package static var allDefaults: Self { Self(reading: SectionReader(describing: ReadingContext.describing())) }
}
