import PosternJSON

extension SectionReader {
  // Forms and examples are made for keys that are given or described only: a large file leaves very many out.

  /// A key with a default.
  package func value<Value>(
    _ name: String, _ form: @autoclosure () -> ValueForm<Value>, default fallback: Value, _ documentation: String,
    example: @autoclosure () -> KeySpecification.Example? = nil
  ) -> Value {
    describe(name, form, documentation, fallback: { $0.json(fallback) }, example: example)
    return read(name, form()) ?? fallback
  }

  /// A key that may be left out, without a default.
  package func optional<Value>(
    _ name: String, _ form: @autoclosure () -> ValueForm<Value>, _ documentation: String,
    example: @autoclosure () -> KeySpecification.Example
  ) -> Value? {
    describe(name, form, documentation, example: example)
    return read(name, form())
  }

  /// A key that must be given.
  package func required<Value>(
    _ name: String, _ form: @autoclosure () -> ValueForm<Value>, _ documentation: String,
    example: @autoclosure () -> KeySpecification.Example
  ) -> Value {
    describe(name, form, documentation, isRequired: true, example: example)
    return read(name, form()) ?? form().placeholder
  }

  /// A list of single values with a default.
  package func list<Value>(
    _ name: String, of form: @autoclosure () -> ValueForm<Value>, default fallback: [Value], _ documentation: String,
    example: @autoclosure () -> KeySpecification.Example? = nil
  ) -> [Value] {
    describe(name, form, documentation, isList: true, fallback: { .array(fallback.map($0.json)) }, example: example)
    return readList(name, form) ?? fallback
  }

  /// A list of single values that may be left out, which is not the same as an empty one.
  func optionalList<Value>(
    _ name: String, of form: @autoclosure () -> ValueForm<Value>, _ documentation: String,
    example: @autoclosure () -> KeySpecification.Example
  ) -> [Value]? {
    describe(name, form, documentation, isList: true, example: example)
    return readList(name, form)
  }

  /// A list of single values that must be given, be it empty.
  func requiredList<Value>(
    _ name: String, of form: @autoclosure () -> ValueForm<Value>, _ documentation: String,
    example: @autoclosure () -> KeySpecification.Example
  ) -> [Value] {
    describe(name, form, documentation, isList: true, isRequired: true, example: example)
    return readList(name, form) ?? []
  }

  private func describe<Value>(
    _ name: String, _ form: () -> ValueForm<Value>, _ documentation: String, isList: Bool = false,
    isRequired: Bool = false, fallback: (ValueForm<Value>) -> JSONValue? = { _ in nil },
    example: () -> KeySpecification.Example?
  ) {
    if isRequired, !isGiven(name) { problem("\(name) is missing") }
    describe(name) {
      let form = form()
      let written = fallback(form)
      return KeySpecification(
        name: name, documentation: form.documented(documentation),
        form: isList ? .list(form.schema()) : .value(form.schema()), isRequired: isRequired, defaultValue: written,
        example: example() ?? written.map { .shown($0) })
    }
  }

  /// Texts by names the operator chooses.
  package func texts(_ name: String, _ documentation: String, example: @autoclosure () -> KeySpecification.Example)
    -> [String:
    String]
  {
    describe(name) { KeySpecification(name: name, documentation: documentation, form: .texts, example: example()) }
    guard let entry = recordedEntry(name) else { return [:] }
    guard case .mapping(let entries) = entry.value.content else {
      problem("must be a section of names and texts, not \(entry.value.kind)", at: name)
      return [:]
    }
    return entries.reduce(into: [:]) { texts, entry in
      texts[entry.key] = parse(entry.value, .text, at: path.key(name).key(entry.key))
    }
  }

  /// Texts that may be one alone, or a list; empty when left out. At least one where it `isRequired`.
  func oneOrMore(
    _ name: String, _ documentation: String, isRequired: Bool = false,
    example: @autoclosure () -> KeySpecification.Example? = nil
  ) -> [String] {
    if isRequired, !isGiven(name) { problem("\(name) is missing") }
    describe(name) {
      let text = ValueForm.text
      let one = text.schema()
      let forms: JSONValue = [.object(one), ["type": "array", "items": .object(one), "minItems": 1]]
      return KeySpecification(
        name: name, documentation: text.documented(documentation), form: .value(["anyOf": forms]),
        isRequired: isRequired, example: example())
    }
    guard let entry = recordedEntry(name) else { return [] }
    guard case .sequence(let items) = entry.value.content else {
      return parse(entry.value, .text, at: path.key(name)).map { [$0] } ?? []
    }
    if items.isEmpty { problem("must have an entry", at: name) }
    return items.enumerated().compactMap { index, item in parse(item, .text, at: path.key(name).index(index)) }
  }

  /// The value of `name`, nil when it is left out or wrong.
  package func read<Value>(_ name: String, _ form: @autoclosure () -> ValueForm<Value>) -> Value? {
    entry(name).flatMap { parse($0.value, form(), at: path.key(name)) }
  }

  private func readList<Value>(_ name: String, _ form: () -> ValueForm<Value>) -> [Value]? {
    guard let entry = recordedEntry(name) else { return nil }
    guard case .sequence(let items) = entry.value.content else {
      problem("must be a list, not \(entry.value.kind)", at: name)
      return nil
    }
    let form = form()
    return items.enumerated().compactMap { index, item in parse(item, form, at: path.key(name).index(index)) }
  }

  private func parse<Value>(_ node: SourceNode, _ form: ValueForm<Value>, at path: ConfigurationPath) -> Value? {
    context.record(path, at: node.origin)
    guard case .scalar(let scalar) = node.content else {
      context.problem("must be a single value, not \(node.kind)", at: path)
      return nil
    }
    guard !scalar.isNull else {
      context.problem("has no value; leave the key out, or put the text in quotes", at: path)
      return nil
    }
    do {
      return try form.parse(scalar, context)
    } catch {
      context.problem(error.message, at: path)
      return nil
    }
  }
}
