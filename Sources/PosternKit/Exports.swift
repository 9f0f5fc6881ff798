// One import for programs: the facade, the engine's values, and the store.

@_exported public import AuthEngine
@_exported public import HTTPMessages
@_exported public import PosternJSON
@_exported public import PosternSupport
@_exported public import SessionStore

// The rest of that module is the configuration's text as values, with names that the engine has, too.
@_exported public import struct PosternConfiguration.ConfigurationProblem
@_exported public import struct PosternConfiguration.ConfigurationProblems
