extension ConfigurationSchema {
  /// A YAML file that shows every key with its meaning; it loads as it stands, where the files it names are there.
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
