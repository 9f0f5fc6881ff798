/// The documents that follow from the declaration of the keys.
public enum ConfigurationSchema {
  /// The whole configuration, described.
  static let root: SectionSpecification = {
    let reader = SectionReader(describing: .describing())
    _ = PosternConfiguration(reading: reader)
    return reader.specification
  }()

  /// The description in both documents.
  static let summary = """
    Configuration of Postern, an authentication sidecar. Durations are a whole number with a unit (250ms, 30s, 5m, 1h, 1d), sizes bytes or \
    a number with KiB, MiB, GiB. Every single value can be overridden by an environment variable: POSTERN__ and the path in upper case with \
    __ between the levels, as in POSTERN__LISTEN__PATH. A secret is given by a file (…File), by an environment variable (…Env), or, with a \
    warning, in the configuration itself. Relative paths begin at the configuration's directory; those of secrets and certificates first at \
    $CREDENTIALS_DIRECTORY.
    """
}

extension ConfigurationSchema {
  /// A YAML file that shows every key with its meaning; it can be loaded if the files it names exist.
  /// Deleting the `#` right before a key switches the key on.
  public static func annotatedExample() -> String {
    var writer = ExampleWriter()
    writer.comment(summary, indent: 0)
    writer.comment(
      "A # with a key right behind it is a key that may be left out. Generated from the code: do not edit.", indent: 0)
    writer.section(root, indent: 0, isCommented: false)
    return writer.text
  }
}
