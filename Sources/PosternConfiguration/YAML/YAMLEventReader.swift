import CPosternYAML

/// libyaml's event parser over a text in memory. Owns the parser; used by one reading, on one thread.
struct YAMLEventReader: ~Copyable {
  private let parser: UnsafeMutablePointer<yaml_parser_t>
  private let text: UnsafeMutableBufferPointer<UInt8>

  /// A parser at the beginning of `bytes`, which are UTF-8 without a byte order mark.
  init(_ bytes: ArraySlice<UInt8>) throws(YAMLProblem) {
    parser = .allocate(capacity: 1)
    text = .allocate(capacity: bytes.count)
    _ = text.initialize(from: bytes)
    // Fails only when there is no memory.
    guard yaml_parser_initialize(parser) == 1 else { preconditionFailure("out of memory") }
    yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
    yaml_parser_set_input_string(parser, text.baseAddress, text.count)
  }

  deinit {
    yaml_parser_delete(parser)
    parser.deallocate()
    text.deallocate()
  }

  /// The next event; throws libyaml's error, with its position and without its excerpt of the file.
  mutating func next() throws(YAMLProblem) -> YAMLEvent {
    var event = yaml_event_t()
    guard yaml_parser_parse(parser, &event) == 1 else { throw parserProblem() }
    defer { yaml_event_delete(&event) }
    return YAMLEvent(kind: Self.kind(of: event), position: Self.position(event.start_mark))
  }

  private static func kind(of event: yaml_event_t) -> YAMLEvent.Kind {
    switch event.type {
    case YAML_DOCUMENT_START_EVENT: return .documentStart
    case YAML_DOCUMENT_END_EVENT: return .documentEnd
    case YAML_STREAM_END_EVENT: return .streamEnd
    case YAML_ALIAS_EVENT: return .alias(string(event.data.alias.anchor) ?? "")
    case YAML_SEQUENCE_START_EVENT:
      let start = event.data.sequence_start
      return .sequenceStart(.init(anchor: string(start.anchor), tag: string(start.tag)))
    case YAML_SEQUENCE_END_EVENT: return .sequenceEnd
    case YAML_MAPPING_START_EVENT:
      let start = event.data.mapping_start
      return .mappingStart(.init(anchor: string(start.anchor), tag: string(start.tag)))
    case YAML_MAPPING_END_EVENT: return .mappingEnd
    case YAML_SCALAR_EVENT:
      let scalar = event.data.scalar
      let text = UnsafeBufferPointer(start: scalar.value, count: scalar.length)
      return .scalar(
        text: String(decoding: text, as: UTF8.self), isPlain: scalar.style == YAML_PLAIN_SCALAR_STYLE,
        .init(anchor: string(scalar.anchor), tag: string(scalar.tag)))
    default: return .other
    }
  }

  private func parserProblem() -> YAMLProblem {
    let position = Self.position(parser.pointee.problem_mark)
    let problem = parser.pointee.problem.map { String(cString: $0) } ?? "the parser gave up"
    if problem == "did not find expected <document start>" {
      return YAMLProblem(line: position.line, column: position.column, message: YAMLDocument.secondDocument)
    }
    let context = parser.pointee.context.map { context in
      " (\(String(cString: context)), begun in line \(parser.pointee.context_mark.line + 1))"
    }
    return YAMLProblem(line: position.line, column: position.column, message: "not YAML: \(problem)\(context ?? "")")
  }

  private static func position(_ mark: yaml_mark_t) -> TextPosition {
    TextPosition(line: Int(mark.line) + 1, column: Int(mark.column) + 1)
  }

  private static func string(_ text: UnsafeMutablePointer<yaml_char_t>?) -> String? {
    text.map { String(cString: $0) }
  }
}
