import PosternSupport

/// Finds the keys that the name of an overriding variable can mean.
///
/// Names may hold `__` themselves, so that all ways of taking the name apart are tried; schema and names bound their
/// number.
struct OverrideSearch {
  /// A scalar that can be set.
  struct Target {
    /// Where it is.
    var path: ConfigurationPath
    /// The other ways of giving the same secret.
    var rivals: [String]
  }

  /// The name without its prefix.
  let wanted: String
  /// The keys that it can mean.
  private(set) var found: [Target] = []

  private var deepest = 0
  private var deepestReason: String?

  /// A search for `wanted`.
  init(wanted: String) { self.wanted = wanted }

  /// Why nothing was found.
  var reason: String { deepestReason ?? "is not the name of a configuration key" }

  /// Looks for `rest` of the name among the keys of a section; `node` is the current value.
  mutating func search(section: SectionSpecification, at node: SourceNode?, rest: Substring, path: ConfigurationPath) {
    var isFound = false
    for key in section.keys {
      guard let rest = key.names.lazy.compactMap({ Self.rest(of: rest, behind: $0) }).first else { continue }
      isFound = true
      let path = path.key(key.name)
      switch key.form {
      case .value:
        if let rest { note("\(path) has no keys below it", rest) } else { take(key, at: path, in: section) }
      case .section(let keys):
        descend(rest, at: path) { $0.search(section: keys, at: node?[key.name], rest: $1, path: path) }
      case .list:
        descend(rest, at: path) { $0.searchItems(of: nil, at: node?[key.name], rest: $1, path: path) }
      case .sections(let keys):
        descend(rest, at: path) { $0.searchItems(of: keys, at: node?[key.name], rest: $1, path: path) }
      case .map(let keys, _):
        descend(rest, at: path) { $0.searchNames(of: keys, at: node?[key.name], rest: $1, path: path) }
      case .texts:
        descend(rest, at: path) { $0.searchTexts(at: node?[key.name], rest: $1, path: path) }
      }
    }
    if !isFound { noteUnknown(rest, among: section.keys.map(\.name), at: path) }
  }

  private mutating func searchNames(
    of keys: SectionSpecification, at node: SourceNode?, rest: Substring, path: ConfigurationPath
  ) {
    let entries: [SourceEntry] = if case .mapping(let entries) = node?.content { entries } else { [] }
    var isFound = false
    for entry in entries {
      guard let rest = Self.rest(of: rest, behind: entry.key) else { continue }
      isFound = true
      let path = path.key(entry.key)
      descend(rest, at: path) { $0.search(section: keys, at: entry.value, rest: $1, path: path) }
    }
    if !isFound { noteUnknown(rest, among: entries.map(\.key), at: path) }
  }

  private mutating func searchTexts(at node: SourceNode?, rest: Substring, path: ConfigurationPath) {
    let entries: [SourceEntry] = if case .mapping(let entries) = node?.content { entries } else { [] }
    let matches = entries.filter { Self.rest(of: rest, behind: $0.key) == .some(nil) }
    for entry in matches { found.append(Target(path: path.key(entry.key), rivals: [])) }
    if matches.isEmpty { noteUnknown(rest, among: entries.map(\.key), at: path) }
  }

  private mutating func searchItems(
    of keys: SectionSpecification?, at node: SourceNode?, rest: Substring, path: ConfigurationPath
  ) {
    let count = if case .sequence(let items) = node?.content { items.count } else { 0 }
    let digits = rest.prefix { ("0"..."9").contains($0) }
    guard let index = Int(digits), index <= count else {
      note("\(path) is a list with \(count) items: name one by its index, 0 to \(count)", rest)
      return
    }
    let path = path.index(index)
    switch (Self.rest(of: rest, behind: String(digits)), keys) {
    case (.some(nil), nil):
      found.append(Target(path: path, rivals: []))
    case (.some(let rest), let keys?):
      var item: SourceNode?
      if case .sequence(let items) = node?.content, index < items.count { item = items[index] }
      descend(rest, at: path) { $0.search(section: keys, at: item, rest: $1, path: path) }
    default:
      note("\(path) has no keys below it", rest)
    }
  }

  private mutating func take(_ key: KeySpecification, at path: ConfigurationPath, in section: SectionSpecification) {
    let rivals = section.keys.filter { $0.secretName != nil && $0.secretName == key.secretName && $0.name != key.name }
    found.append(Target(path: path, rivals: rivals.map(\.name)))
  }

  private mutating func descend(
    _ rest: Substring?, at path: ConfigurationPath, _ body: (inout OverrideSearch, Substring) -> Void
  ) {
    if let rest { body(&self, rest) } else { note("\(path) is not a single value; name a key below it", "") }
  }

  private mutating func noteUnknown(_ rest: Substring, among names: [String], at path: ConfigurationPath) {
    let level = String(rest.prefix(upTo: Self.separator(in: rest) ?? rest.endIndex))
    let section = path.steps.isEmpty ? "the configuration" : path.description
    var message = "there is no \(ConfigurationPath.printable(level)) in \(section)"
    if let name = Suggestion.closest(to: level, among: names) { message += "; did you mean \(Self.fold(name))?" }
    note(message, rest)
  }

  /// Keeps the message of the interpretation that matched most of the name.
  private mutating func note(_ message: String, _ rest: Substring) {
    let depth = wanted.utf8.count - rest.utf8.count
    guard deepestReason == nil || depth > deepest else { return }
    (deepest, deepestReason) = (depth, message)
  }

  /// The rest of `text` after `name`: nil when `text` begins differently, `.some(nil)` when nothing is left.
  private static func rest(of text: Substring, behind name: String) -> Substring?? {
    let wanted = fold(name)
    guard fold(String(text)).hasPrefix(wanted) else { return nil }
    let rest = text.dropFirst(wanted.count)
    if rest.isEmpty { return .some(nil) }
    return rest.hasPrefix("__") ? .some(rest.dropFirst(2)) : nil
  }

  /// Upper case, and `_` for whatever the name of a variable cannot hold.
  private static func fold(_ name: String) -> String {
    String(
      name.unicodeScalars.map { scalar -> Character in
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9":
          Character(Unicode.Scalar(scalar.value)?.properties.uppercaseMapping ?? "_")
        default: "_"
        }
      })
  }

  private static func separator(in text: Substring) -> Substring.Index? {
    var index = text.startIndex
    while index < text.endIndex {
      if text[index...].hasPrefix("__") { return index }
      index = text.index(after: index)
    }
    return nil
  }
}
