import PosternJSON
import PosternYAML

extension SectionReader {
  /// A key with a default.
  func value<Value>(
    _ name: String, _ form: ValueForm<Value>, default fallback: Value, _ documentation: String,
    example: KeySpecification.Example? = nil
  ) -> Value {
    let written = form.json(fallback)
    describe(
      KeySpecification(
        name: name, documentation: form.documented(documentation), form: .value(form.schema), defaultValue: written,
        example: example ?? .shown(written)))
    return read(name, form) ?? fallback
  }

  /// A key that may be left out, without a default.
  func optional<Value>(
    _ name: String, _ form: ValueForm<Value>, _ documentation: String, example: KeySpecification.Example
  ) -> Value? {
    describe(
      KeySpecification(
        name: name, documentation: form.documented(documentation), form: .value(form.schema), example: example))
    return read(name, form)
  }

  /// A key that must be given.
  func required<Value>(
    _ name: String, _ form: ValueForm<Value>, _ documentation: String, example: KeySpecification.Example
  ) -> Value {
    describe(
      KeySpecification(
        name: name, documentation: form.documented(documentation), form: .value(form.schema), isRequired: true,
        example: example))
    if !isGiven(name) { problem("\(name) is missing") }
    return read(name, form) ?? form.placeholder
  }

  /// A list of single values with a default.
  func list<Value>(
    _ name: String, of form: ValueForm<Value>, default fallback: [Value], _ documentation: String,
    example: KeySpecification.Example? = nil
  ) -> [Value] {
    let written = JSONValue.array(fallback.map(form.json))
    describe(
      KeySpecification(
        name: name, documentation: form.documented(documentation), form: .list(form.schema), defaultValue: written,
        example: example ?? .shown(written)))
    return readList(name, form) ?? fallback
  }

  /// A list of single values that may be left out, which is not the same as an empty one.
  func optionalList<Value>(
    _ name: String, of form: ValueForm<Value>, _ documentation: String, example: KeySpecification.Example
  ) -> [Value]? {
    describe(
      KeySpecification(
        name: name, documentation: form.documented(documentation), form: .list(form.schema), example: example))
    return readList(name, form)
  }

  /// A list of single values that must be given, be it empty.
  func requiredList<Value>(
    _ name: String, of form: ValueForm<Value>, _ documentation: String, example: KeySpecification.Example
  ) -> [Value] {
    describe(
      KeySpecification(
        name: name, documentation: form.documented(documentation), form: .list(form.schema), isRequired: true,
        example: example))
    if !isGiven(name) { problem("\(name) is missing") }
    return readList(name, form) ?? []
  }

  /// Texts by names the operator chooses.
  func texts(_ name: String, _ documentation: String, example: KeySpecification.Example) -> [String: String] {
    describe(KeySpecification(name: name, documentation: documentation, form: .texts, example: example))
    guard let entry = entry(name) else { return [:] }
    guard case .mapping(let entries) = entry.value.content else {
      problem("must be a section of names and texts, not \(entry.value.kind)", at: name)
      return [:]
    }
    return entries.reduce(into: [:]) { texts, entry in
      texts[entry.key] = parse(entry.value, .text, at: path.key(name).key(entry.key))
    }
  }

  /// The value of `name`, nil when it is left out or wrong.
  func read<Value>(_ name: String, _ form: ValueForm<Value>) -> Value? {
    entry(name).flatMap { parse($0.value, form, at: path.key(name)) }
  }

  private func readList<Value>(_ name: String, _ form: ValueForm<Value>) -> [Value]? {
    guard let entry = entry(name) else { return nil }
    guard case .sequence(let items) = entry.value.content else {
      problem("must be a list, not \(entry.value.kind)", at: name)
      return nil
    }
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
