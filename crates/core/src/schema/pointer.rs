//! JSON pointers (RFC 6901), built only when something is to be said.

/// Where a walk stands: a list through the stack, so that walking allocates nothing.
#[derive(Clone, Copy)]
pub(super) enum Path<'a> {
    Root,
    Key(&'a Path<'a>, &'a str),
    Index(&'a Path<'a>, usize),
}

impl Path<'_> {
    /// The pointer; empty for the root.
    pub(super) fn to_pointer(self) -> String {
        let mut pointer = String::new();
        self.append_to(&mut pointer);
        pointer
    }

    fn append_to(self, pointer: &mut String) {
        match self {
            Self::Root => {}
            Self::Key(parent, key) => {
                parent.append_to(pointer);
                pointer.push('/');
                pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
            }
            Self::Index(parent, index) => {
                parent.append_to(pointer);
                pointer.push('/');
                pointer.push_str(&index.to_string());
            }
        }
    }
}
