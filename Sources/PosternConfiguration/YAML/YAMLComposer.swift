/// Makes `SourceNode`s of the parser's events in document order: repeated keys found wherever they are, aliases
/// expanded within a budget.
struct YAMLComposer: ~Copyable {
  /// Errors that do not end the reading.
  private(set) var problems: [YAMLProblem] = []

  private var events: YAMLEventReader
  private var anchors: [String: SourceNode] = [:]
  private var sizes: [String: Int] = [:]
  private var nodeCount = 0
  private var path = ConfigurationPath()
  /// How many values enclose the one being read; the path does not show it, because a key that is no name is not in it.
  private var depth = 0

  /// A composer at the beginning of a text.
  init(_ events: consuming YAMLEventReader) { self.events = events }

  /// The root of the one document; nil when there is none.
  mutating func document() throws(YAMLProblem) -> SourceNode? {
    var root: SourceNode?
    while true {
      let event = try events.next()
      switch event.kind {
      case .documentStart:
        guard root == nil else {
          throw problem(YAMLDocument.secondDocument, at: event.position)
        }
        root = try node(after: try events.next())
      case .streamEnd: return root
      default: continue
      }
    }
  }

  /// The value that begins with `event`.
  private mutating func node(after event: YAMLEvent) throws(YAMLProblem) -> SourceNode {
    let position = event.position
    guard depth <= YAMLDocument.maxDepth else {
      throw problem("nested deeper than \(YAMLDocument.maxDepth) levels", at: position)
    }
    depth += 1
    defer { depth -= 1 }
    let before = nodeCount
    let origin = SourceOrigin.file(line: position.line, column: position.column)
    let node: SourceNode
    let anchor: String?
    switch event.kind {
    case .alias(let name):
      try count(1, at: position)
      return try expand(name, at: position)
    case .scalar(let text, let isPlain, let properties):
      try count(1, at: position)
      checkTag(properties.tag, against: "str", at: position)
      let style: SourceScalar.Style = isPlain && properties.tag == nil ? .plain : .quoted
      node = SourceNode(content: .scalar(SourceScalar(text: text, style: style)), origin: origin)
      anchor = properties.anchor
    case .sequenceStart(let properties):
      try count(1, at: position)
      checkTag(properties.tag, against: "seq", at: position)
      node = SourceNode(content: .sequence(try items()), origin: origin)
      anchor = properties.anchor
    case .mappingStart(let properties):
      try count(1, at: position)
      checkTag(properties.tag, against: "map", at: position)
      node = SourceNode(content: .mapping(try entries()), origin: origin)
      anchor = properties.anchor
    default:
      throw problem("not YAML: a value is missing", at: position)
    }
    if let anchor {
      anchors[anchor] = node
      sizes[anchor] = nodeCount - before
    }
    return node
  }

  private mutating func items() throws(YAMLProblem) -> [SourceNode] {
    var items: [SourceNode] = []
    while true {
      let event = try events.next()
      if case .sequenceEnd = event.kind { return items }
      path.steps.append(.index(items.count))
      items.append(try node(after: event))
      path.steps.removeLast()
    }
  }

  private mutating func entries() throws(YAMLProblem) -> [SourceEntry] {
    var entries: [SourceEntry] = []
    var positions: [String: Int] = [:]
    var merged: [SourceNode] = []
    while true {
      let event = try events.next()
      if case .mappingEnd = event.kind { break }
      guard case .scalar(let key, let isPlain, let properties) = event.kind else {
        problems.append(problem("a key must be a plain name", at: event.position))
        // Both are read, so that what follows is found at its position.
        _ = try node(after: event)
        _ = try node(after: try events.next())
        continue
      }
      checkTag(properties.tag, against: "str", at: event.position)
      let origin = SourceOrigin.file(line: event.position.line, column: event.position.column)
      path.steps.append(.key(key))
      let value = try node(after: try events.next())
      if let anchor = properties.anchor {
        let scalar = SourceScalar(text: key, style: isPlain ? .plain : .quoted)
        anchors[anchor] = SourceNode(content: .scalar(scalar), origin: origin)
        sizes[anchor] = 1
      }
      if let first = positions[key] {
        problems.append(problem("given more than once\(Self.lineNote(entries[first].keyOrigin))", at: event.position))
      } else if key == "<<", isPlain {
        merged.append(value)
      } else {
        positions[key] = entries.count
        entries.append(SourceEntry(key: key, keyOrigin: origin, value: value))
      }
      path.steps.removeLast()
    }
    for node in merged { merge(node, into: &entries, positions: &positions) }
    return entries
  }

  /// `<<: *base` or `<<: [*first, *second]`: what is given already stays (YAML merge keys).
  private mutating func merge(_ node: SourceNode, into entries: inout [SourceEntry], positions: inout [String: Int]) {
    let sources: [SourceNode] = if case .sequence(let items) = node.content { items } else { [node] }
    for source in sources {
      guard case .mapping(let additions) = source.content else {
        if case .file(let line, let column) = source.origin {
          var path = path
          path.steps.append(.key("<<"))
          problems.append(
            YAMLProblem(line: line, column: column, path: path, message: "`<<` merges sections of keys only"))
        }
        continue
      }
      for entry in additions where positions[entry.key] == nil {
        positions[entry.key] = entries.count
        entries.append(entry)
      }
    }
  }

  /// Counts before it copies: a small file of nested aliases stands for any number of values.
  private mutating func expand(_ name: String, at position: TextPosition) throws(YAMLProblem) -> SourceNode {
    guard let node = anchors[name] else {
      problems.append(
        problem("there is no anchor \"&\(ConfigurationPath.printable(name))\" before this alias", at: position))
      let nothing = SourceScalar(text: "", style: .plain)
      return SourceNode(content: .scalar(nothing), origin: .file(line: position.line, column: position.column))
    }
    try count(sizes[name] ?? 0, at: position)
    return node
  }

  private mutating func count(_ nodes: Int, at position: TextPosition) throws(YAMLProblem) {
    nodeCount += nodes
    guard nodeCount <= YAMLDocument.maxNodes else {
      throw problem("more than \(YAMLDocument.maxNodes) values, aliases expanded", at: position)
    }
  }

  /// Rejects tags, except those that name the type a value has anyway: the schema alone decides about types.
  private mutating func checkTag(_ tag: String?, against core: String, at position: TextPosition) {
    guard let tag, tag != "!", tag != "tag:yaml.org,2002:\(core)" else { return }
    problems.append(problem("YAML tags are not supported here", at: position))
  }

  private func problem(_ message: String, at position: TextPosition) -> YAMLProblem {
    YAMLProblem(line: position.line, column: position.column, path: path, message: message)
  }

  private static func lineNote(_ origin: SourceOrigin) -> String {
    if case .file(let line, _) = origin { " (first in line \(line))" } else { "" }
  }
}
