extension SectionReader {
  /// A section that holds its defaults when it is left out.
  package func section<Section: ConfigurationSection>(
    _ name: String, _: Section.Type, _ documentation: String, commented: Bool = false
  ) -> Section {
    readSection(name, documentation, commented: commented)
  }

  /// A section that may be missing, which means something else than its defaults.
  func optionalSection<Section: ConfigurationSection>(
    _ name: String, formerly formerName: String? = nil, _: Section.Type, _ documentation: String,
    commented: Bool = false
  ) -> Section? {
    guard context.isDescribing || isGiven(name) else {
      note(name, formerly: formerName)
      return nil
    }
    let section: Section = readSection(name, formerly: formerName, documentation, commented: commented)
    return isGiven(name) ? section : nil
  }

  /// Sections by names the operator chooses.
  package func map<Section: ConfigurationSection>(
    _ name: String, of _: Section.Type, _ documentation: String, exampleName: String
  ) -> [String: Section] {
    describe(name) {
      KeySpecification(
        name: name, documentation: documentation,
        form: .map(Self.specification(of: Section.self), exampleName: exampleName))
    }
    guard let entry = recordedEntry(name) else { return [:] }
    switch entry.value.content {
    case .scalar(let scalar) where scalar.isNull:
      return [:]
    case .mapping(let entries):
      var sections: [String: Section] = [:]
      sections.reserveCapacity(entries.count)
      for entry in entries {
        let path = path.key(name).key(entry.key)
        if let message = Self.problem(inName: entry.key) {
          context.problem(message, at: path, origin: entry.keyOrigin)
        }
        sections[entry.key] = read(entry.value, at: path)
      }
      return sections
    default:
      problem("must be a section of names, not \(entry.value.kind)", at: name)
      return [:]
    }
  }

  /// A list of sections; nil when it is left out.
  package func sections<Section: ConfigurationSection>(
    _ name: String, _: Section.Type, _ documentation: String, commented: Bool = false
  ) -> [Section]? {
    describe(name) {
      KeySpecification(
        name: name, documentation: documentation, form: .sections(Self.specification(of: Section.self)),
        isCommentedSection: commented)
    }
    guard let entry = recordedEntry(name) else { return nil }
    guard case .sequence(let items) = entry.value.content else {
      problem("must be a list, not \(entry.value.kind)", at: name)
      return nil
    }
    return items.enumerated().map { index, item in read(item, at: path.key(name).index(index)) }
  }

  private func readSection<Section: ConfigurationSection>(
    _ name: String, formerly formerName: String? = nil, _ documentation: String, commented: Bool
  ) -> Section {
    let node = entry(name)?.value
    guard context.isDescribing || node != nil else {
      note(name, formerly: formerName)
      return context.defaultSection()
    }
    let reader = SectionReader(node, at: path.key(name), in: context)
    let section = Section(reading: reader)
    reader.finish()
    describe(name, formerly: formerName) {
      KeySpecification(
        name: name, formerName: formerName, documentation: documentation, form: .section(reader.specification),
        isCommentedSection: commented)
    }
    return section
  }

  private func read<Section: ConfigurationSection>(_ node: SourceNode, at path: ConfigurationPath) -> Section {
    let reader = SectionReader(node, at: path, in: context)
    let section = Section(reading: reader)
    reader.finish()
    return section
  }

  private static func specification(of section: (some ConfigurationSection).Type) -> SectionSpecification {
    let reader = SectionReader(describing: .describing())
    _ = section.init(reading: reader)
    return reader.specification
  }

  private static func problem(inName name: String) -> String? {
    guard !name.isEmpty, name.utf8.count <= 128 else { return "a name has 1 to 128 bytes" }
    let isVisible = name.unicodeScalars.allSatisfy { !$0.isWhitespace && !$0.isControl }
    return isVisible ? nil : "a name must not contain white space or control characters"
  }
}
