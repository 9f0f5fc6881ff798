/// `POSTERN__LIMITS__DEPTH=64` in place of `limits: { depth: 64 }`.
///
/// A variable's name is the path in upper case, `__` between the levels; within a name every character that variables
/// cannot have is `_`. Sections that are missing are made; names of maps (issuers, resources, decision points) must be
/// there; the items of a list go by their index, and one past the last adds an item. A variable that leads nowhere is a
/// problem.
struct EnvironmentOverrides {
  /// The prefix of every overriding variable.
  static let prefix = "POSTERN__"

  /// A variable that cannot be applied.
  struct Problem: Sendable, Hashable {
    /// The variable's name.
    var variable: String
    /// Why.
    var message: String
  }

  /// The configuration with the overrides applied so far.
  private(set) var root: SourceNode
  /// The variables that could not be applied.
  private(set) var problems: [Problem] = []

  /// The configuration as the file has it.
  init(_ root: SourceNode) { self.root = root }

  /// Applies all overrides of `environment`, in the order of their names.
  mutating func apply(_ environment: [String: String], to schema: SectionSpecification) {
    // By length first, so that item 2 of a list is there before item 10 is added.
    let names = environment.keys.filter { $0.hasPrefix(Self.prefix) }.sorted {
      ($0.utf8.count, $0) < ($1.utf8.count, $1)
    }
    for name in names {
      var search = OverrideSearch(wanted: String(name.dropFirst(Self.prefix.count)))
      search.search(section: schema, at: root, rest: search.wanted[...], path: ConfigurationPath())
      switch search.found.count {
      case 1:
        set(environment[name] ?? "", at: search.found[0], from: name)
      case 0:
        problems.append(Problem(variable: name, message: search.reason))
      default:
        let paths = search.found.map(\.path.description).joined(separator: " and ")
        problems.append(Problem(variable: name, message: "could mean \(paths)"))
      }
    }
  }

  private mutating func set(_ text: String, at target: OverrideSearch.Target, from variable: String) {
    let value = SourceNode(
      content: .scalar(SourceScalar(text: text, style: .environment)), origin: .environment(variable))
    // One way of giving a secret replaces the others: the file's clientSecretFile gives way to CLIENTSECRETENV.
    for rival in target.rivals { Self.remove(rival, at: target.path, in: &root) }
    Self.set(value, at: target.path.steps[...], in: &root)
  }

  private static func set(_ value: SourceNode, at steps: ArraySlice<ConfigurationPath.Step>, in node: inout SourceNode)
  {
    guard let step = steps.first else {
      node = value
      return
    }
    switch step {
    case .key(let key):
      var entries: [SourceEntry] = if case .mapping(let entries) = node.content { entries } else { [] }
      if let index = entries.firstIndex(where: { $0.key == key }) {
        set(value, at: steps.dropFirst(), in: &entries[index].value)
      } else {
        var entry = SourceEntry(
          key: key, keyOrigin: value.origin, value: SourceNode(content: .mapping([]), origin: value.origin))
        set(value, at: steps.dropFirst(), in: &entry.value)
        entries.append(entry)
      }
      node.content = .mapping(entries)
    case .index(let index):
      var items: [SourceNode] = if case .sequence(let items) = node.content { items } else { [] }
      if index == items.count { items.append(SourceNode(content: .mapping([]), origin: value.origin)) }
      if items.indices.contains(index) { set(value, at: steps.dropFirst(), in: &items[index]) }
      node.content = .sequence(items)
    }
  }

  private static func remove(_ key: String, at path: ConfigurationPath, in root: inout SourceNode) {
    func descend(_ steps: ArraySlice<ConfigurationPath.Step>, _ node: inout SourceNode) {
      switch (steps.first, node.content) {
      case (nil, .mapping(let entries)):
        // Another override is not removed: two ways of giving one secret in the environment stay a problem.
        node.content = .mapping(
          entries.filter { entry in
            if case .environment = entry.value.origin { return true }
            return entry.key != key
          })
      case (.key(let name), .mapping(var entries)):
        guard let index = entries.firstIndex(where: { $0.key == name }) else { return }
        descend(steps.dropFirst(), &entries[index].value)
        node.content = .mapping(entries)
      case (.index(let index), .sequence(var items)) where items.indices.contains(index):
        descend(steps.dropFirst(), &items[index])
        node.content = .sequence(items)
      default:
        break
      }
    }
    descend(path.steps.dropLast()[...], &root)
  }
}
